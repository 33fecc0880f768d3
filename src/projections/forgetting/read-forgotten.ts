import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { forgottenAmong } from '../../postgres/stream-keys.ts';
import { keyInTree, type OfTree, pairsOf } from '../of-tree.ts';

/** Returns those of these runs of whose payload something is forgotten: of the run's own stream, or of a tree of it. */
export async function forgottenRuns(db: Db, runs: readonly string[]): Promise<ReadonlySet<string>> {
  const asked = sql`any(${[...runs]}::uuid[])`;
  const { rows } = await sql<{ runId: string }>`
    select k.stream as run_id from public.stream_keys k where k.stream = ${asked} and k.secret is null
    union
    select t.run_id from trees t join public.stream_keys k on k.stream = t.tree_id and k.secret is null where t.run_id = ${asked}`.execute(
    db,
  );
  return new Set(rows.map(({ runId }) => runId));
}

/** What is left of the trees of a run. */
export interface LeftOfRun {
  readonly trees: number;
  /** Those of which payload is forgotten. */
  readonly forgotten: ReadonlySet<string>;
}

/** Reads which trees of a run can be read as they were, and of which payload is forgotten. */
export async function readLeftOfRun(db: Db, runId: string): Promise<LeftOfRun> {
  const { rows } = await sql<{ treeId: string; forgotten: boolean }>`
    select t.tree_id, exists (select from public.stream_keys k where k.stream = t.tree_id and k.secret is null) as forgotten
    from trees t where t.run_id = ${runId}::uuid`.execute(db);
  return { trees: rows.length, forgotten: new Set(rows.flatMap(({ treeId, forgotten }) => (forgotten ? [treeId] : []))) };
}

/** Returns why nothing of a run can be read again; null where a tree of it can, or it has none. */
export function nothingLeft(runId: string, { trees, forgotten }: LeftOfRun): string | null {
  return trees > 0 && forgotten.size === trees
    ? `the payload of run ${runId} is forgotten, of all its ${trees} trees: nothing of it can be read again`
    : null;
}

/**
 * Returns those of these prompts, named by their steps or judgements, whose tree has forgotten payload, by `keyInTree`.
 * @param keys where the keys of streams lie, unless `db` shows them.
 */
export async function forgottenPrompts(db: Db, prompts: readonly OfTree[], keys: Db = db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<OfTree>`
    select p.tree_id, p.prompt_id as id
    from ${pairsOf(prompts)} w join prompts p on p.prompt_id = w.id and p.tree_id = w.tree_id`.execute(db);
  if (rows.length === 0) return new Set();
  const trees = await forgottenAmong(keys, [...new Set(rows.map(({ treeId }) => treeId))]);
  return new Set(rows.flatMap(({ treeId, id }) => (trees.has(treeId) ? [keyInTree(treeId, id)] : [])));
}
