import { sql } from 'kysely';
import type { SearchedStep } from '../../domain/search/search-tree.ts';
import { growTree, type Tree } from '../../domain/tree/grow-tree.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Blobs } from '../../postgres/column-types.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { keyInTree } from '../of-tree.ts';
import { readPictureIdsOfTrees } from '../pictures/read-pictures.ts';
import { readEarned } from '../rewards/read-rewards.ts';

/** A tree as revisions are mined from it. */
export interface SearchedTree {
  readonly treeId: string;
  readonly runId: string;
  readonly environment: string;
  readonly serverFingerprint: string;
  readonly alias: string;
  /** What the task was reset with. */
  readonly seed: number;
  readonly instruction: string;
  /** The task's first observation: what a judge reads as the task description. */
  readonly firstObservation: string;
  /** A search backed values up in it; else what its steps are worth follows from the returns of its rollouts. */
  readonly searched: boolean;
  readonly tree: Tree<SearchedStep>;
  /** Ended rollouts of a group that nobody rewarded: no trajectory ends with them. */
  readonly unrewarded: number;
  /** Pictures of observations, by their ids: step → in order. */
  readonly pictures: PicturesOfSteps;
}

type PicturesOfSteps = ReadonlyMap<string, readonly { readonly imageId: string }[]>;

/** Counts the trees of a run to which nothing more comes. */
export async function countClosedTrees(db: Db, runId: string): Promise<number> {
  const row = await db
    .selectFrom('trees')
    .select(({ fn }) => fn.countAll<string>().as('closed'))
    .where('runId', '=', runId)
    .where('closedAt', 'is not', null)
    .executeTakeFirstOrThrow();
  return Number(row.closed);
}

/** Reads the ids of the trees of a run, in the order in which they were opened. */
export async function readTreeIds(db: Db, runId: string): Promise<readonly string[]> {
  const rows = await rowsWhere(db, 'trees', { runId }, ['treeId'], ['openedAt', 'treeId']);
  return rows.map((row) => row.treeId);
}

/** Reads text of a tree that lies in the blob store, by its SHA-256 and size in bytes. */
export type ResolveText = (sha256: string, size: number, treeId: string) => Promise<string>;

/** Reads one tree as `readSearchedTrees` does; null when there is no such tree. */
export async function readSearchedTree(db: Db, treeId: string, resolve: ResolveText): Promise<SearchedTree | null> {
  return (await readSearchedTrees(db, [treeId], resolve)).get(treeId) ?? null;
}

/**
 * Reads trees whole, with what each step was worth. Where a search backed values up, those are the visits and values; a leaf that
 * ended before the search was stopped and was not backed up yet counts as its back-up will count it. Elsewhere (a group of
 * rollouts) every rollout that ended and was rewarded counts as one visit of its path with its return. Terminal is what ended, by
 * the environment or a limit; no rollout that nobody rewarded, nor a node that a search gave up for want of replies. Children are in
 * the order of the log. Trees that are not there are left out.
 */
export async function readSearchedTrees(
  db: Db,
  treeIds: readonly string[],
  resolve: ResolveText,
): Promise<ReadonlyMap<string, SearchedTree>> {
  const ids = [...treeIds];
  const heads = await rowsWhere(db, 'trees', { treeId: ids }, [
    'treeId',
    'runId',
    'environment',
    'serverFingerprint',
    'alias',
    'seed',
    'instruction',
    'blobs',
  ]);
  const { rows: steps } = await sql<StepRow>`
    select s.tree_id, s.step_id, s.parent_step_id, s.response, s.action, s.observation,
           s.termination, s.blobs, n.visits, n.value_sum
    from steps s left join node_statistics n on n.step_id = s.step_id and n.tree_id = s.tree_id
    where s.tree_id = any(${ids}::uuid[]) order by s.tree_id, s.log_offset`.execute(db);
  const { rows: ends } = await sql<EndRow>`
    select o.tree_id, o.rollout_id, o.leaf_step_id, r.value
    from rollouts o left join returns r on r.rollout_id = o.rollout_id and r.tree_id = o.tree_id
    where o.tree_id = any(${ids}::uuid[]) and o.outcome in ('terminated', 'truncated')
    order by o.tree_id, o.ordinal, o.rollout_id`.execute(db);
  const earned = await readEarned(db, openSearches(steps, ends)); // a search counts the environment's score alone
  const pictures = await readPictureIdsOfTrees(db, ids);
  const trees = new Map<string, SearchedTree>();
  for (const head of heads) {
    const own = <Row extends { readonly treeId: string }>(rows: readonly Row[]) =>
      rows.filter((row) => row.treeId === head.treeId);
    trees.set(head.treeId, await growSearched(head, { rows: own(steps), ends: own(ends), earned, pictures }, resolve));
  }
  return trees;
}

async function growSearched(
  { blobs, ...head }: HeadRow,
  { rows, ends, earned, pictures }: TreeRows,
  resolve: ResolveText,
): Promise<SearchedTree> {
  const text = (inline: string, reference: BlobRef | undefined) =>
    reference ? resolve(reference.blob, reference.size, head.treeId) : inline;
  const searched = isSearched(rows);
  const known = searched ? ends : ends.filter(({ value }) => value !== null);
  const worth = searched ? backedUp(rows, ends, earned) : summed(rows, known);
  const ended = new Set(known.map(({ leafStepId }) => leafStepId));
  const unrewarded = new Set(ends.flatMap(({ leafStepId }) => (ended.has(leafStepId) ? [] : [leafStepId])));
  const steps: SearchedStep[] = [];
  for (const row of rows) {
    const { response, action, observation } = row.blobs ?? {};
    const { visits, valueSum } = worth.get(row.stepId) ?? UNVISITED;
    steps.push({
      stepId: row.stepId,
      parentStepId: row.parentStepId,
      response: await text(row.response, response),
      action: await text(row.action, action),
      observation: await text(row.observation, observation),
      score: visits === 0 ? 0 : valueSum / visits,
      disaster: false, // follows from its value, 0; no rule of revision reads the flag
      terminal: ended.has(row.stepId) || (row.termination !== 'none' && !unrewarded.has(row.stepId)),
      visits,
      valueSum,
    });
  }
  const { instruction } = blobs ?? {};
  const tree = growTree(steps);
  const { observation: firstObservation } = tree.root.step;
  const shown = new Map(
    rows.flatMap(({ treeId, stepId }) => {
      const ids = pictures.get(keyInTree(treeId, stepId));
      return ids ? [[stepId, ids] as const] : [];
    }),
  );
  return {
    ...head,
    instruction: await text(head.instruction, instruction),
    firstObservation,
    searched,
    tree,
    unrewarded: ends.length - known.length,
    pictures: shown,
  };
}

type HeadRow = Omit<SearchedTree, 'firstObservation' | 'searched' | 'tree' | 'unrewarded' | 'pictures'> & {
  readonly blobs: Blobs | null;
};

interface TreeRows {
  readonly rows: readonly StepRow[];
  readonly ends: readonly EndRow[];
  readonly earned: ReadonlyMap<string, number>;
  readonly pictures: PicturesOfSteps;
}

interface EndRow {
  readonly treeId: string;
  readonly rolloutId: string;
  readonly leafStepId: string;
  /** Null where nobody rewarded it. */
  readonly value: number | null;
}

interface StepRow {
  readonly treeId: string;
  readonly stepId: string;
  readonly parentStepId: string | null;
  readonly response: string;
  readonly action: string;
  readonly observation: string;
  readonly termination: string;
  readonly blobs: Blobs | null;
  readonly visits: number | null;
  readonly valueSum: number | null;
}

interface Worth {
  readonly visits: number;
  readonly valueSum: number;
}
const UNVISITED: Worth = { visits: 0, valueSum: 0 };

function isSearched(rows: readonly StepRow[]): boolean {
  return rows.some(({ visits }) => visits !== null);
}

/** Returns the searched trees in which a leaf ended that was not backed up. */
function openSearches(steps: readonly StepRow[], ends: readonly EndRow[]): readonly string[] {
  const visited = new Set(steps.flatMap(({ treeId, stepId, visits }) => (visits === null ? [] : [keyInTree(treeId, stepId)])));
  const searched = new Set(steps.flatMap(({ treeId, visits }) => (visits === null ? [] : [treeId])));
  const open = ends.filter(({ treeId, leafStepId }) => searched.has(treeId) && !visited.has(keyInTree(treeId, leafStepId)));
  return [...new Set(open.map(({ treeId }) => treeId))];
}

/** Takes what the search backed up, and adds the leaves that it has not backed up yet, in the order in which they ended. */
function backedUp(
  rows: readonly StepRow[],
  ends: readonly EndRow[],
  earned: ReadonlyMap<string, number>,
): ReadonlyMap<string, Worth> {
  const worth = new Map(rows.map(({ stepId, visits, valueSum }) => [stepId, { visits: visits ?? 0, valueSum: valueSum ?? 0 }]));
  const parents = parentsOf(rows);
  for (const { treeId, leafStepId } of ends) {
    if (worth.get(leafStepId)?.visits !== 0) continue;
    const path = upFrom(leafStepId, parents);
    const score = path.reduceRight((sum, stepId) => sum + (earned.get(keyInTree(treeId, stepId)) ?? 0), 0);
    count(worth, path, Math.max(0, score)); // below 0 is a disaster, which counts as nothing (specification of Agent-R, §1.5)
  }
  return worth;
}

/** Counts every end that somebody rewarded. Rollouts come by ordinal, so that the sums have one order. */
function summed(rows: readonly StepRow[], ends: readonly EndRow[]): ReadonlyMap<string, Worth> {
  const parents = parentsOf(rows);
  const worth = new Map<string, Worth>();
  for (const { leafStepId, value } of ends) if (value !== null) count(worth, upFrom(leafStepId, parents), value);
  return worth;
}

function count(worth: Map<string, Worth>, path: readonly string[], value: number): void {
  for (const stepId of path) {
    const { visits, valueSum } = worth.get(stepId) ?? UNVISITED;
    worth.set(stepId, { visits: visits + 1, valueSum: valueSum + value });
  }
}

type Parents = ReadonlyMap<string, string | null>;

function parentsOf(rows: readonly StepRow[]): Parents {
  return new Map(rows.map(({ stepId, parentStepId }) => [stepId, parentStepId]));
}

/** Returns the steps from a leaf to the root, both included. */
function upFrom(leafStepId: string, parents: Parents): readonly string[] {
  const path: string[] = [];
  for (let id: string | null = leafStepId; id !== null; id = parents.get(id) ?? null) path.push(id);
  return path;
}
