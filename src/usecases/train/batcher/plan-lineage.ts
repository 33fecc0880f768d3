import { createAppender, type Draft } from '../../../append/appender.ts';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import {
  type Decision,
  findMixedMembers,
  type PlanRequest,
  planBatches,
} from '../../../domain/training/planning/plan-batches.ts';
import type { PlanRules } from '../../../domain/training/planning/plan-rules.ts';
import type { RecordFault } from '../../../domain/training/planning/record-fault.ts';
import { catalogue } from '../../../events/catalogue.ts';
import { derivedId } from '../../../events/derived-id.ts';
import type { Stamp } from '../../../events/envelope.ts';
import { manifestHashOf } from '../../../events/manifest-hash.ts';
import type { Method } from '../../../events/schemas/training.ts';
import type { EventLog, Offsets } from '../../../log/event-log.ts';
import { formatPosition } from '../../../log/position.ts';
import { nextSequence } from '../../../platform/next-sequence.ts';
import type { Db } from '../../../postgres/database.ts';
import type { HeldTransaction } from '../../../postgres/hold-transaction.ts';
import { tryOwnWork } from '../../../postgres/own-work.ts';
import { topicsOf } from '../../../projections/concerns.ts';
import { journal } from '../../../projections/journal/journal.ts';
import { keyInTree } from '../../../projections/of-tree.ts';
import { owners } from '../../../projections/owners/owners.ts';
import { prompts } from '../../../projections/prompts/prompts.ts';
import { runs } from '../../../projections/runs/runs.ts';
import { stepTree } from '../../../projections/step-tree/step-tree.ts';
import { type LineageRecord, readLineages } from '../../../projections/training-pool/read-lineages.ts';
import { readFinishedRuns } from '../../../projections/training-pool/read-pool.ts';
import { trainingPool } from '../../../projections/training-pool/training-pool.ts';
import { readCursor, readProjected, restrictToTopics, waitUntilProjected } from '../../../projections/wait-until.ts';
import { stampOfPolicy } from '../../../training/outbox/encode-events.ts';
import { readPlanRequest } from '../../../training/read-plan-request.ts';
import { type Learner, readRecordFaults } from '../../../training/rows/read-record-faults.ts';
import { lineageIdOf } from './declare-training.ts';

export interface BatcherWorld {
  readonly db: Db;
  readonly log: EventLog;
  readonly blobs: BlobStore;
  readonly producer: { readonly name: string; readonly version: string };
  readonly stamp: Stamp;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** How long the read models may take to hold what the log holds. */
  readonly catchUpMs: number;
}

/**
 * Whether anything follows for a lineage from what the read models hold now: asked without the lock and the waits of
 * `planLineage`, which decides. What they do not hold yet moves a cursor of `OF_POOL`, and is asked about then. @throws
 * TrainingRefused.
 */
export async function isPlannable(db: Db, lineage: LineageRecord): Promise<boolean> {
  const request = await readPlanRequest(db, lineage, await readFinishedRuns(db, lineage.policyId));
  return request !== null && planBatches(request).length > 0;
}

/** `busy`: another planner holds the lineage. `idle`: nothing follows from the pool. */
export type PlanningResult =
  | { readonly kind: 'busy' | 'idle' }
  | { readonly kind: 'planned'; readonly batches: number; readonly samples: number; readonly rejected: number };

const CHUNK = 500; // events of one append: a crash in the middle leaves the rest to the next planner

/**
 * Plans what follows for one lineage, as its only planner at this time. It holds the lineage by an advisory lock, waits until the
 * read models hold all that was appended before, its own last plan too, and reads them at one moment; so it never plans a sample
 * twice. It may die anywhere: what it appended stays, and the next one goes on behind it with events of the same ids. One that is
 * stopped for long loses the lineage to the next one, and appends nothing when it goes on.
 * @throws ProjectionsBehind, LogError, TrainingRefused for a lineage that no estimator of this version can plan.
 */
export async function planLineage(world: BatcherWorld, policyId: string, signal: AbortSignal): Promise<PlanningResult> {
  const owned = await tryOwnWork(world.db, planningOf(policyId), (held) =>
    planHeld(world, policyId, held, AbortSignal.any([signal, held.signal])),
  );
  return owned.kind === 'busy' ? owned : owned.result;
}

/** Names the planning of a lineage, which one process owns at a time. */
export function planningOf(policyId: string): string {
  return `batcher ${policyId}`;
}

async function planHeld(
  world: BatcherWorld,
  policyId: string,
  transaction: HeldTransaction,
  signal: AbortSignal,
): Promise<PlanningResult> {
  // Only runs that were over before the log's end was asked: whatever their collectors appended lies below it.
  const finishedRuns = await readFinishedRuns(world.db, policyId);
  const ends = await world.log.ends(topicsOf(trainingPool));
  const waiting = { timeoutMs: world.catchUpMs, signal };
  await waitUntilProjected(world.db, ends, { ...waiting, projections: OF_POOL });
  const drafts = await decide(world, { policyId, finishedRuns, ends }, signal);
  if (drafts.length === 0) return { kind: 'idle' };
  // The journal knows the numbers that planners before this one used in the lineage's stream.
  await waitUntilProjected(world.db, restrictToTopics(ends, [catalogue.BatchPlanned.topic]), {
    ...waiting,
    projections: [journal],
  });
  const appender = createAppender({
    ...world,
    stamp: await stampOfPolicy(world.db, lineageIdOf(policyId), world.stamp),
    sequenceOf: (stream, topic) => nextSequence(world.db, world.producer.name, stream, topic),
  });
  for (let from = 0; from < drafts.length; from += CHUNK) {
    signal.throwIfAborted();
    await transaction.confirm();
    await appender.append(drafts.slice(from, from + CHUNK));
  }
  const batches = drafts.flatMap((draft) => (draft.type === 'BatchPlanned' ? [draft.data] : []));
  const samples = batches.reduce((sum, batch) => sum + batch.samples, 0);
  return { kind: 'planned', batches: batches.length, samples, rejected: drafts.length - batches.length };
}

/**
 * Reads lineage, pool and position at one moment, and says what follows. The record of a sample is looked at behind a wait of its
 * own: the pool may hold groups that were closed since the first one, before the read models of their steps do, and what is not
 * folded yet would pass for a fault.
 */
async function decide(
  { db, blobs, catchUpMs }: BatcherWorld,
  { policyId, finishedRuns, ends }: PlanInput,
  signal: AbortSignal,
): Promise<readonly Draft[]> {
  const read = await readProjected(
    db,
    ends,
    async (trx) => {
      const [lineage] = await readLineages(trx, [policyId]);
      const request = lineage === undefined ? null : await readPlanRequest(trx, lineage, finishedRuns);
      return lineage && request && { lineage, request, cursors: await readCursor(trx, trainingPool) };
    },
    OF_POOL,
  );
  if (!read) return [];
  const { lineage, request, cursors } = read;
  const { rules } = request;
  let decisions = planBatches(request);
  // Rejections follow from the pool alone.
  if (decisions.some(({ kind }) => kind === 'plan')) {
    await waitUntilProjected(db, cursors, { timeoutMs: catchUpMs, signal, projections: OF_RECORDS });
    const learner = learnerOf(lineage.trainer);
    decisions = await readProjected(db, cursors, (trx) => planReadable({ db: trx, blobs }, request, learner), OF_RECORDS);
  }
  return writePlan(decisions, { ...lineage, rules, position: formatPosition(cursors), previousHash: lineage.lastManifest });
}

interface PlanInput {
  readonly policyId: string;
  readonly finishedRuns: readonly string[];
  /** Where the log ended when `finishedRuns` were over. */
  readonly ends: Offsets;
}

/** Hold the samples of a policy, and in which project each is. */
export const OF_POOL = [trainingPool, owners];
/** Hold what `readRecordFaults` asks for. */
const OF_RECORDS = [stepTree, prompts, runs];

/**
 * Plans batches whose rows can be read and trained on. Of a sample its record is looked at when it would be planned: most are
 * looked at once, and those that wait not again and again. One with a fault is refused, and what follows is planned again. So are
 * those of a batch that were sampled at another temperature than most of it, where the torch backend trains: its update has one.
 */
async function planReadable(
  where: Parameters<typeof readRecordFaults>[0],
  request: PlanRequest,
  learner: Learner,
): Promise<readonly Decision[]> {
  const looked = new Set<string>();
  const temperatures = new Map<string, number>();
  for (let { groups } = request; ; ) {
    const decisions = planBatches({ ...request, groups });
    const planned = decisions.flatMap((each) =>
      each.kind === 'plan' ? each.batch.groups.flatMap(({ treeId, rolloutIds }) => rolloutIds.map((id) => ({ treeId, id }))) : [],
    );
    const unseen = planned.filter(({ treeId, id }) => !looked.has(keyInTree(treeId, id)));
    const found = unseen.length === 0 ? null : await readRecordFaults(where, unseen, learner, request.rules);
    const unreadable = new Map([...(found?.faults ?? []), ...findRepeated(decisions)]);
    for (const { treeId, id } of unseen) looked.add(keyInTree(treeId, id));
    for (const [key, temperature] of found?.temperatures ?? []) temperatures.set(key, temperature);
    // the linear policy takes each row at its own temperature, and so may trainers elsewhere: rows say theirs
    const hasOne = learner === 'texts' || learner === 'pictures';
    const mixed = () => (hasOne ? findMixedMembers(decisions, (...of) => temperatures.get(keyInTree(...of))) : []);
    const faults =
      unreadable.size > 0
        ? unreadable
        : new Map(mixed().map(({ treeId, rolloutId, fault }) => [keyInTree(treeId, rolloutId), fault]));
    if (faults.size === 0) return decisions;
    groups = groups.map((group) => {
      const faultOf = ({ rolloutId }: { readonly rolloutId: string }) => faults.get(keyInTree(group.treeId, rolloutId));
      if (!group.samples.some((sample) => faultOf(sample) !== undefined)) return group;
      const samples = group.samples.map((each) => ({ ...each, recordFault: faultOf(each) ?? each.recordFault }));
      return { ...group, samples };
    });
  }
}

/** Finds members whose id a member of a group before them has in the same batch, which trainers tell its rollouts apart by. */
function findRepeated(decisions: readonly Decision[]): ReadonlyMap<string, RecordFault> {
  const faults = new Map<string, RecordFault>();
  for (const decision of decisions) {
    if (decision.kind !== 'plan') continue;
    const first = new Map<string, string>(); // id → tree
    for (const { treeId, rolloutIds } of decision.batch.groups)
      for (const id of rolloutIds) {
        const other = first.get(id) ?? treeId;
        first.set(id, other);
        if (other === treeId) continue;
        const rule = `tree ${other} of its batch has a rollout ${id} too: give every rollout an id of its own`;
        faults.set(keyInTree(treeId, id), { reason: 'incomplete-record', rule, measured: null });
      }
  }
  return faults;
}

/**
 * What the declaration says of the trainer: our own name their backend. Whether the model of a folder reads pictures is known
 * where the folder is; that a server sampled from a prompt with one is on record, and the trainer names the step if it cannot.
 */
function learnerOf(trainer: unknown): Learner {
  // any JSON: parts of it, or undefined
  const { backend, torch } = (trainer ?? {}) as {
    readonly backend?: unknown;
    readonly torch?: { readonly model?: { kind?: unknown } };
  };
  if (backend === 'linear') return 'candidates';
  if (backend !== 'torch') return 'other';
  return torch?.model?.kind === 'folder' ? 'pictures' : 'texts';
}

interface PlanOrigin {
  readonly lineageId: string;
  readonly policyId: string;
  readonly estimator: Method;
  readonly rules: PlanRules;
  readonly seed: number;
  /** How far the planner had read. */
  readonly position: string;
  /** The manifest of the batch before; null before the first. */
  readonly previousHash: string | null;
}

/**
 * Writes decisions as events whose ids follow from what they say: said again, they are recognised. Batches are chained by their
 * manifests.
 */
function writePlan(decisions: readonly Decision[], origin: PlanOrigin): readonly Draft[] {
  const { lineageId, policyId, estimator, rules, seed, position } = origin;
  const lineage = { lineageId, policyId };
  let previousHash = origin.previousHash;
  return decisions.map((decision): Draft => {
    if (decision.kind === 'reject') {
      const { treeId: groupId, rolloutId, reason, rule, measured } = decision;
      const data = { ...lineage, groupId, rolloutId, reason, rule, measured };
      const id = derivedId('SampleRejected', lineageId, groupId, rolloutId, reason, rule, measured ?? 'null');
      return { type: 'SampleRejected', id, correlationId: lineageId, data };
    }
    const { ordinal, policyVersion, samples, tokens } = decision.batch;
    const groups = decision.batch.groups.map(({ treeId, rolloutIds }) => ({ treeId, rolloutIds: [...rolloutIds] }));
    const shards = decision.batch.shards.map((places) => [...places]);
    const batchId = derivedId('batch', lineageId, ordinal);
    const planned = { batchId, ordinal, policyVersion, groups, samples, tokens, shards };
    const manifest = { ...lineage, ...planned, estimator, rules, seed, position, previousHash };
    const manifestHash = manifestHashOf(manifest);
    previousHash = manifestHash;
    const data = { ...manifest, manifestHash };
    return { type: 'BatchPlanned', id: derivedId('BatchPlanned', batchId, manifestHash), correlationId: lineageId, data };
  });
}
