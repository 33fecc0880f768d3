import { decode } from '../../events/codec.ts';
import type { Db } from '../../postgres/database.ts';
import { readSearchFacts } from '../../projections/search-statistics/read-search-facts.ts';
import type { RecordedStep, RecordedTree } from './recorded-tree.ts';
import { type ReadBytes, readSampledReplies } from './sampled-replies.ts';

/** A tree that was opened and not closed, and the first observation that it was opened with. */
export interface OpenTree {
  readonly treeId: string;
  readonly alias: string;
  readonly seed: number;
  readonly observation: string;
}

export interface RecordedRun {
  readonly started: boolean;
  /** How the run ended; null while it can be gone on with. */
  readonly end: { readonly outcome: 'completed' | 'failed' | 'cancelled'; readonly message: string } | null;
  /** The trees that a resumed run goes on with. */
  readonly open: readonly OpenTree[];
  /** Gives the tree that a run's task of this index grew, null when it was never opened. */
  tree(runId: string, index: number): Promise<RecordedTree | null>;
}

/** The record of a run that is about to begin. */
export const nothingRecorded: RecordedRun = { started: false, end: null, open: [], tree: async () => null };

/**
 * Opens the record of a run for resuming. The read models must have caught up with the log first (`waitUntilProjected`), or steps
 * that were appended would be taken again. @param treeIdOf the id of the tree of a task index.
 * @param resolve reads text that lies in the blob store. @param readBytes reads bytes there.
 */
export async function readRecordedRun(
  db: Db,
  runId: string,
  treeIdOf: (index: number) => string,
  resolve: (sha256: string) => Promise<string>,
  readBytes: ReadBytes,
): Promise<RecordedRun> {
  const run = await db
    .selectFrom('runs')
    .select(['run_id', 'finished_at', 'outcome', 'message'])
    .where('run_id', '=', runId)
    .executeTakeFirst();
  const outcome = (run?.outcome ?? 'completed') as 'completed' | 'failed' | 'cancelled'; // by the schema of RunFinished
  return {
    started: run !== undefined,
    end: run?.finished_at == null ? null : { outcome, message: run.message ?? '' },
    open: run ? await readOpenTrees(db, runId, resolve) : [],
    tree: (_runId, index) => readTree(db, treeIdOf(index), resolve, readBytes),
  };
}

async function readOpenTrees(db: Db, runId: string, resolve: (sha256: string) => Promise<string>): Promise<readonly OpenTree[]> {
  const rows = await db
    .selectFrom('trees as t')
    .innerJoin('steps as s', 's.step_id', 't.root_step_id')
    .select(['t.tree_id', 't.alias', 't.seed', 's.observation', 's.blobs'])
    .where('t.run_id', '=', runId)
    .where('t.closed_at', 'is', null)
    .orderBy('t.tree_id')
    .execute();
  return Promise.all(
    rows.map(async ({ tree_id: treeId, alias, seed, observation, blobs }) => {
      const blob = blobs?.observation;
      return { treeId, alias, seed, observation: blob ? await resolve(blob.blob) : observation };
    }),
  );
}

/** Reads which differences from its first observation are recorded in a tree, by the ids of their events. */
async function readOpenedOtherwise(db: Db, treeId: string, rootStepId: string): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('events')
    .select('body')
    .where('stream', '=', treeId)
    .where('type', '=', 'ReplayDiverged')
    .execute();
  return rows.flatMap(({ body }) => {
    const decoded = decode(Buffer.from(body));
    if (decoded.kind !== 'event' || decoded.event.type !== 'ReplayDiverged') return [];
    return decoded.event.data.stepId === rootStepId ? [decoded.event.id] : [];
  });
}

async function readTree(
  db: Db,
  treeId: string,
  resolve: (sha256: string) => Promise<string>,
  readBytes: ReadBytes,
): Promise<RecordedTree | null> {
  const tree = await db
    .selectFrom('trees')
    .select(['closed_at', 'close_reason', 'root_step_id'])
    .where('tree_id', '=', treeId)
    .executeTakeFirst();
  if (!tree) return null;
  const rollouts = await db
    .selectFrom('rollouts')
    .select(['rollout_id', 'ordinal', 'from_step_id', 'outcome', 'success', 'reason'])
    .where('tree_id', '=', treeId)
    .execute();
  const steps = await db
    .selectFrom('steps')
    .select([
      'step_id',
      'parent_step_id',
      'rollout_id',
      'depth',
      'response',
      'action',
      'observation',
      'termination',
      'admissible',
      'blobs',
    ])
    .where('tree_id', '=', treeId)
    .orderBy('log_offset')
    .execute();
  const rewards = await db
    .selectFrom('rewards')
    .select(['step_id'])
    .where('tree_id', '=', treeId)
    .where('step_id', 'is not', null)
    .execute();
  const recorded = new Map<string, RecordedStep>();
  for (const step of steps) {
    const text = async (field: 'response' | 'action' | 'observation') => {
      const reference = step.blobs?.[field];
      return reference ? resolve(reference.blob) : step[field];
    };
    recorded.set(step.step_id, {
      stepId: step.step_id,
      parentStepId: step.parent_step_id,
      rolloutId: step.rollout_id,
      depth: step.depth,
      response: await text('response'),
      action: await text('action'),
      observation: await text('observation'),
      termination: step.termination,
      admissibleActions: step.admissible,
    });
  }
  const searchFacts = await readSearchFacts(db, treeId);
  const expanded = new Set(searchFacts.flatMap((fact) => (fact.kind === 'node-expanded' ? [fact.stepId] : [])));
  return {
    closed: tree.closed_at === null ? null : (tree.close_reason ?? 'completed'),
    openedOtherwise: tree.closed_at === null ? await readOpenedOtherwise(db, treeId, tree.root_step_id) : [],
    searchFacts,
    replies: tree.closed_at === null ? await readSampledReplies(db, treeId, expanded, readBytes) : new Map(),
    rollouts: new Map(
      rollouts.map((r) => [
        r.ordinal,
        { rolloutId: r.rollout_id, fromStepId: r.from_step_id, outcome: r.outcome, success: r.success, reason: r.reason ?? '' },
      ]),
    ),
    steps: recorded,
    rewarded: new Set(rewards.flatMap((reward) => (reward.step_id === null ? [] : [reward.step_id]))),
  };
}
