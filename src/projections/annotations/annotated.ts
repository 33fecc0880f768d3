import { type RawBuilder, sql } from 'kysely';

/** What annotation something has, or, where `has` is false, lacks: one that is not retracted and that all parts hold of. */
export interface AnnotatedFilter {
  readonly has: boolean;
  readonly label?: string;
  readonly principal?: string;
  readonly scoreFrom?: number;
  readonly scoreUntil?: number;
}

/** Returns the condition that a row of `steps` is annotated so itself. */
export function stepAnnotated(filter: AnnotatedFilter): RawBuilder<boolean> {
  return holds(filter, sql`n.step_id = steps.step_id and n.tree_id = steps.tree_id`);
}

/**
 * Returns the condition that a row of a table with `rollout_id` and `tree_id`, or a step that its rollout took, is annotated so.
 * The annotations of a tree are few: they are found by the tree.
 */
export function rolloutAnnotated(table: string, filter: AnnotatedFilter): RawBuilder<boolean> {
  const rollout = sql.ref(`${table}.rolloutId`);
  return holds(
    filter,
    sql`n.tree_id = ${sql.ref(`${table}.treeId`)} and (n.rollout_id = ${rollout}
      or n.step_id is not null and exists (select from steps o where o.step_id = n.step_id and o.tree_id = n.tree_id and o.rollout_id = ${rollout}))`,
  );
}

function holds({ has, label, principal, scoreFrom, scoreUntil }: AnnotatedFilter, of: RawBuilder<unknown>): RawBuilder<boolean> {
  const all = [of, sql`n.retracted_at is null`];
  if (label !== undefined) all.push(sql`n.label = ${label}`);
  if (principal !== undefined) all.push(sql`n.principal = ${principal}`);
  if (scoreFrom !== undefined) all.push(sql`n.score >= ${scoreFrom}`);
  if (scoreUntil !== undefined) all.push(sql`n.score < ${scoreUntil}`);
  const exists = sql<boolean>`exists (select from annotations n where ${sql.join(all, sql` and `)})`;
  return has ? exists : sql<boolean>`not ${exists}`;
}
