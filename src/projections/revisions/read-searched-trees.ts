import { sql } from 'kysely';
import type { SearchedStep } from '../../domain/search/searched-step.ts';
import { growTree, type Tree } from '../../domain/tree/grow-tree.ts';
import type { Db } from '../../postgres/database.ts';
import type { Blobs } from '../../postgres/tables.ts';

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
  /** The task's first observation: what a judge is told as the task description. */
  readonly firstObservation: string;
  readonly tree: Tree<SearchedStep>;
}

/** Reads the ids of the trees of a run, in the order in which they were opened. */
export async function readTreeIds(db: Db, runId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('trees')
    .select('tree_id')
    .where('run_id', '=', runId)
    .orderBy('opened_at')
    .orderBy('tree_id')
    .execute();
  return rows.map((row) => row.tree_id);
}

/**
 * Reads one tree whole, with what each step was worth. Where a search backed values up, those are the visits and values; elsewhere (a group of
 * rollouts) every ended rollout counts as one visit of its path with its return. Terminal is what ended: the environment said so, or
 * a limit did. A node that a search gave up for want of replies is no end of a trajectory. Children stand in the order of the log. Null when
 * there is no such tree. @param resolve reads text that lies in the blob store.
 */
export async function readSearchedTree(
  db: Db,
  treeId: string,
  resolve: (sha256: string) => Promise<string>,
): Promise<SearchedTree | null> {
  const { rows: heads } = await sql<Omit<SearchedTree, 'firstObservation' | 'tree'> & { readonly blobs: Blobs | null }>`
    select tree_id as "treeId", run_id as "runId", environment, server_fingerprint as "serverFingerprint", alias, seed, instruction, blobs
    from trees where tree_id = ${treeId}`.execute(db);
  const head = heads[0];
  if (!head) return null;
  const { rows } = await sql<StepRow>`
    select s.step_id as "stepId", s.parent_step_id as "parentStepId", s.response, s.action, s.observation, s.termination, s.blobs,
           n.visits, n.value_sum as "valueSum"
    from steps s left join node_statistics n on n.step_id = s.step_id
    where s.tree_id = ${treeId} order by s.log_offset`.execute(db);
  const { rows: ends } = await sql<{ leafStepId: string; value: number }>`
    select o.leaf_step_id as "leafStepId", coalesce(r.value, 0) as value
    from rollouts o left join returns r on r.rollout_id = o.rollout_id
    where o.tree_id = ${treeId} and o.outcome in ('terminated', 'truncated') order by o.ordinal, o.rollout_id`.execute(db);
  const worth = rows.some(({ visits }) => visits !== null) ? backedUp(rows) : summed(rows, ends);
  const ended = new Set(ends.map(({ leafStepId }) => leafStepId));
  const steps: SearchedStep[] = [];
  for (const row of rows) {
    const text = async (field: 'response' | 'action' | 'observation') => {
      const reference = row.blobs?.[field];
      return reference ? resolve(reference.blob) : row[field];
    };
    const { visits, valueSum } = worth.get(row.stepId) ?? UNVISITED;
    steps.push({
      stepId: row.stepId,
      parentStepId: row.parentStepId,
      response: await text('response'),
      action: await text('action'),
      observation: await text('observation'),
      score: visits === 0 ? 0 : valueSum / visits,
      disaster: false, // told by its value, 0; no rule of revision reads the flag
      terminal: row.termination !== 'none' || ended.has(row.stepId),
      visits,
      valueSum,
    });
  }
  const { blobs, ...rest } = head;
  const { instruction: stored } = blobs ?? {};
  const instruction = stored ? await resolve(stored.blob) : head.instruction;
  const tree = growTree(steps);
  return { ...rest, instruction, firstObservation: tree.root.step.observation, tree };
}

interface StepRow {
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

function backedUp(rows: readonly StepRow[]): ReadonlyMap<string, Worth> {
  return new Map(rows.map(({ stepId, visits, valueSum }) => [stepId, { visits: visits ?? 0, valueSum: valueSum ?? 0 }]));
}

/** Walks up from every end. Rollouts come by ordinal, so that the sums have one order. */
function summed(
  rows: readonly StepRow[],
  ends: readonly { readonly leafStepId: string; readonly value: number }[],
): ReadonlyMap<string, Worth> {
  const parents = new Map(rows.map(({ stepId, parentStepId }) => [stepId, parentStepId]));
  const worth = new Map<string, Worth>();
  for (const { leafStepId, value } of ends) {
    for (let id: string | null = leafStepId; id !== null; id = parents.get(id) ?? null) {
      const { visits, valueSum } = worth.get(id) ?? UNVISITED;
      worth.set(id, { visits: visits + 1, valueSum: valueSum + value });
    }
  }
  return worth;
}
