import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { keyInTree, type OfTree } from '../of-tree.ts';

/** Which steps of a path: those deeper than `after`, `limit` of them at most. The root has depth 0. */
export interface PathPart {
  readonly treeId: string;
  readonly leaf: string;
  readonly after: number;
  readonly limit: number;
}

/**
 * Walks from each step up to its root, in one statement. Returns the ids of each path, root first, by `keyInTree` of its step; the
 * path of an unknown step is left out.
 */
export async function readPaths(db: Db, leaves: readonly OfTree[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const distinct = new Map(leaves.map((leaf) => [keyInTree(leaf.treeId, leaf.id), leaf]));
  const paths = await readPathParts(
    db,
    [...distinct.values()].map(({ treeId, id }) => ({ treeId, leaf: id, after: -1, limit: 2 ** 31 })),
  );
  return new Map(paths.map(({ treeId, leaf, steps }) => [keyInTree(treeId, leaf), steps]));
}

/**
 * Walks from each step up to the first step of its part, in one statement. Returns the ids of each part, root first; the part of
 * an unknown step is left out. A path has as many steps as its leaf is deep (the fold refuses any other depth), so that the walk
 * has no other end. @throws Error where a parent is missing: a path that is cut never looks whole.
 */
export async function readPathParts(
  db: Db,
  parts: readonly PathPart[],
): Promise<readonly (PathPart & { readonly steps: readonly string[] })[]> {
  const asked = parts.map(({ treeId, leaf, after, limit }, place) => ({
    place,
    tree: treeId,
    leaf,
    after,
    until: after + limit,
  }));
  const { rows } = await sql<{ place: number; steps: string[] | null; expected: number; found: number }>`
    with recursive asked as (
      select a.place, a.after, a.until, s.tree_id, s.step_id, s.parent_step_id, s.depth
      from jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as a(place integer, tree uuid, leaf uuid, after bigint, until bigint)
      join steps s on s.step_id = a.leaf and s.tree_id = a.tree
    ), walk as (
      select place, after, until, tree_id, step_id, parent_step_id, depth from asked where depth > after
      union all
      select w.place, w.after, w.until, w.tree_id, s.step_id, s.parent_step_id, s.depth
      from walk w cross join lateral (
        select step_id, parent_step_id, depth from steps
        where step_id = w.parent_step_id and tree_id = w.tree_id and depth = w.depth - 1 offset 0 -- an index look-up, whatever the planner expects
      ) s
      where s.depth > w.after
    )
    select a.place, array_agg(w.step_id order by w.depth) filter (where w.depth <= a.until) as steps,
           greatest(0, a.depth - a.after)::integer as expected, count(w.step_id)::integer as found
    from asked a left join walk w on w.place = a.place group by a.place, a.depth, a.after`.execute(db);
  return rows.flatMap(({ place, steps, expected, found }) => {
    const part = parts[place];
    if (!part) return []; // the places are those of `parts`
    if (found < expected)
      throw new Error(`the path to step ${part.leaf} lacks ${expected - found} steps in the read model; rebuild step-tree`);
    return [{ ...part, steps: steps ?? [] }];
  });
}

/** The finished rollouts of a tree, by ordinal, and its steps, by id: enough to walk each from its leaf to the root. */
export interface GroupWalks {
  readonly steps: ReadonlyMap<string, WalkStep>;
  readonly rollouts: readonly Walk[];
}

export interface WalkStep {
  readonly stepId: string;
  readonly parentStepId: string | null;
  readonly stateHash: string | null;
}

export interface Walk {
  readonly rolloutId: string;
  readonly fromStepId: string;
  readonly leafStepId: string;
}

/** Reads the walks of a tree's rollouts; those that failed or were cancelled are left out. */
export async function readGroupWalks(db: Db, treeId: string): Promise<GroupWalks> {
  const steps = await rowsWhere(db, 'steps', { treeId }, ['stepId', 'parentStepId', 'stateHash']);
  const rollouts = await rowsWhere(
    db,
    'rollouts',
    { treeId, outcome: ['terminated', 'truncated'] },
    ['rolloutId', 'fromStepId', 'leafStepId'],
    ['ordinal', 'rolloutId'],
  );
  return { steps: new Map(steps.map((step) => [step.stepId, step])), rollouts: rollouts as Walk[] }; // each has ended at a leaf
}
