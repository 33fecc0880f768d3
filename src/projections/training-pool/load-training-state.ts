import { type RawBuilder, sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { keyInTree, type OfTree } from '../of-tree.ts';
import { isOf } from '../projection.ts';

/** What the events of a slice refer to and the tables already hold; the fold adds what the slice itself brings. */
export interface TrainingState {
  /** `lineage ordinal` → manifest hash. */
  readonly manifests: Map<string, string>;
  /** Samples by `sampleKey`: → batch. */
  readonly batchOf: Map<string, string>;
  readonly rejected: Set<string>;
  /** Batches that were trained, and those that were abandoned. */
  readonly acks: Set<string>;
  readonly abandonments: Set<string>;
  /** Batch → the lineage that planned it. */
  readonly planned: Map<string, string>;
}

/** A sample as a policy names it. */
interface NamedSample extends OfTree {
  readonly policyId: string;
}

/** Identifies a sample among those that a policy names. */
export function sampleKey(policyId: string, treeId: string, rolloutId: string): string {
  return `${keyInTree(treeId, rolloutId)} ${policyId}`;
}

/** Loads what the events of a slice refer to, by primary keys; kinds of facts that it does not hold cost nothing. */
export async function loadTrainingState(slice: readonly Delivery[], trx: Trx): Promise<TrainingState> {
  const wanted = references(slice);
  const samples = [...wanted.samples.values()];
  const planned = await rowsWhere(trx, 'batches', { batchId: [...wanted.named] }, ['batchId', 'lineageId']);
  const batchOf = await namedIn(sql`select tree_id, rollout_id, policy_id, batch_id from batch_samples`, samples, trx);
  const rejected = await namedIn(sql`select tree_id, rollout_id, policy_id, '' as batch_id from sample_rejections`, samples, trx);
  return {
    manifests: await manifestsOf(wanted.batches, trx),
    batchOf,
    rejected: new Set(rejected.keys()),
    acks: await endedIn('batchAcks', wanted.ended, trx),
    abandonments: await endedIn('batchAbandonments', wanted.ended, trx),
    planned: new Map(planned.map(({ batchId, lineageId }) => [batchId, lineageId])),
  };
}

async function endedIn(table: 'batchAcks' | 'batchAbandonments', ids: ReadonlySet<string>, trx: Trx): Promise<Set<string>> {
  return new Set((await rowsWhere(trx, table, { batchId: [...ids] }, ['batchId'])).map(({ batchId }) => batchId));
}

/** What `rows` hold of samples, by `sampleKey`. */
async function namedIn(rows: RawBuilder<unknown>, samples: readonly NamedSample[], trx: Trx): Promise<Map<string, string>> {
  if (samples.length === 0) return new Map();
  const policies = samples.map(({ policyId }) => policyId);
  const { rows: found } = await sql<{ policyId: string; treeId: string; rolloutId: string; batchId: string }>`
    select r.policy_id, r.tree_id, r.rollout_id, r.batch_id
    from unnest(${samples.map(({ id }) => id)}::uuid[], ${samples.map(({ treeId }) => treeId)}::uuid[], ${policies}::text[])
      as w (rollout_id, tree_id, policy_id) join (${rows}) r using (rollout_id, tree_id, policy_id)`.execute(trx);
  return new Map(found.map(({ policyId, treeId, rolloutId, batchId }) => [sampleKey(policyId, treeId, rolloutId), batchId]));
}

interface Place {
  readonly lineageId: string;
  readonly ordinal: number;
}

/** The batches at the places that are planned, and those before them. */
async function manifestsOf(places: readonly Place[], trx: Trx): Promise<Map<string, string>> {
  if (places.length === 0) return new Map();
  const lineages = places.map(({ lineageId }) => lineageId);
  const ordinals = places.map(({ ordinal }) => ordinal);
  const { rows } = await sql<Place & { manifestHash: string }>`
    select b.lineage_id, b.ordinal, b.manifest_hash from unnest(${lineages}::uuid[], ${ordinals}::int[]) as w(lineage_id, ordinal)
    join batches b on b.lineage_id = w.lineage_id and b.ordinal in (w.ordinal, w.ordinal - 1)`.execute(trx);
  return new Map(rows.map(({ lineageId, ordinal, manifestHash }) => [`${lineageId} ${ordinal}`, manifestHash]));
}

function references(slice: readonly Delivery[]) {
  const batches: Place[] = [];
  const samples = new Map<string, NamedSample>();
  const addSample = (policyId: string, treeId: string, id: string) =>
    samples.set(sampleKey(policyId, treeId, id), { policyId, treeId, id });
  const ended = new Set<string>();
  const named = new Set<string>();
  for (const delivery of slice) {
    if (isOf(delivery, 'BatchPlanned')) {
      const { lineageId, policyId, ordinal, groups } = delivery.event.data;
      batches.push({ lineageId, ordinal });
      for (const { treeId, rolloutIds } of groups) for (const rolloutId of rolloutIds) addSample(policyId, treeId, rolloutId);
    }
    if (isOf(delivery, 'SampleRejected')) {
      const { policyId, groupId, rolloutId } = delivery.event.data;
      addSample(policyId, groupId, rolloutId);
    }
    const { data } = delivery.event;
    if ('batchId' in data && typeof data.batchId === 'string') named.add(data.batchId);
    if (isOf(delivery, 'BatchAcked') || isOf(delivery, 'BatchAbandoned')) ended.add(delivery.event.data.batchId);
  }
  return { batches, samples, ended, named };
}
