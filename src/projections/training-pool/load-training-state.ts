import { sql } from 'kysely';
import type { Delivery } from '../../events/envelope.ts';
import type { Trx } from '../../postgres/database.ts';
import { keyInTree, keyOf, type OfTree, pairsOf } from '../of-tree.ts';
import { isOf } from '../projection.ts';

/**
 * What the events of a slice refer to and the tables already hold; the fold adds what the slice itself brings. The maps of facts
 * give their digests.
 */
export interface TrainingState {
  readonly lineages: Map<string, string>;
  /** `lineage ordinal` → manifest hash. */
  readonly manifests: Map<string, string>;
  /** Samples by `keyInTree`: → batch. */
  readonly batchOf: Map<string, string>;
  readonly rejected: Set<string>;
  readonly acks: Map<string, string>;
  readonly abandonments: Map<string, string>;
  /** `lineage checkpoint` → digest. */
  readonly checkpoints: Map<string, string>;
  /** Batch → the lineage that planned it. */
  readonly planned: Map<string, string>;
  /** `lineage version` → digest. */
  readonly versions: Map<string, string>;
}

/** Loads what the events of a slice refer to, by primary keys; kinds of facts that it does not hold cost nothing. */
export async function loadTrainingState(slice: readonly Delivery[], trx: Trx): Promise<TrainingState> {
  const wanted = references(slice);
  const pairs = async (query: string, ids: ReadonlySet<string>): Promise<Map<string, string>> => {
    if (ids.size === 0) return new Map();
    const { rows } = await sql<{ key: string; value: string }>`${sql.raw(query)} = any(${[...ids]}::uuid[])`.execute(trx);
    return new Map(rows.map(({ key, value }) => [key, value]));
  };
  return {
    lineages: await pairs('select lineage_id as key, said as value from lineages where lineage_id', wanted.lineages),
    manifests: await manifestsOf(wanted.batches, trx),
    batchOf: await batchesOf([...wanted.samples.values()], trx),
    rejected: await rejectedAmong([...wanted.samples.values()], trx),
    acks: await pairs('select batch_id as key, said as value from batch_acks where batch_id', wanted.ended),
    abandonments: await pairs('select batch_id as key, said as value from batch_abandonments where batch_id', wanted.ended),
    checkpoints: await pairs(
      "select lineage_id || ' ' || checkpoint_id as key, said as value from checkpoints where checkpoint_id",
      wanted.checkpoints,
    ),
    planned: await pairs('select batch_id as key, lineage_id as value from batches where batch_id', wanted.named),
    versions: await versionsOf(wanted.versions, trx),
  };
}

async function batchesOf(samples: readonly OfTree[], trx: Trx): Promise<Map<string, string>> {
  if (samples.length === 0) return new Map();
  const { rows } = await sql<OfTree & { readonly batchId: string }>`
    select b.tree_id, b.rollout_id as id, b.batch_id
    from ${pairsOf(samples)} w join batch_samples b on b.rollout_id = w.id and b.tree_id = w.tree_id`.execute(trx);
  return new Map(rows.map((row) => [keyOf(row), row.batchId]));
}

async function rejectedAmong(samples: readonly OfTree[], trx: Trx): Promise<Set<string>> {
  if (samples.length === 0) return new Set();
  const { rows } = await sql<OfTree>`
    select x.tree_id, x.rollout_id as id
    from ${pairsOf(samples)} w join sample_rejections x on x.rollout_id = w.id and x.tree_id = w.tree_id`.execute(trx);
  return new Set(rows.map(keyOf));
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

interface Version {
  readonly lineageId: string;
  readonly version: number;
}

async function versionsOf(places: readonly Version[], trx: Trx): Promise<Map<string, string>> {
  if (places.length === 0) return new Map();
  const lineages = places.map(({ lineageId }) => lineageId);
  const versions = places.map(({ version }) => version);
  const { rows } = await sql<Version & { said: string }>`
    select v.lineage_id, v.version, v.said from policy_versions v
    where (v.lineage_id, v.version) in (select * from unnest(${lineages}::uuid[], ${versions}::int[]))`.execute(trx);
  return new Map(rows.map(({ lineageId, version, said }) => [`${lineageId} ${version}`, said]));
}

function references(slice: readonly Delivery[]) {
  const lineages = new Set<string>();
  const batches: Place[] = [];
  const samples = new Map<string, OfTree>();
  const addSample = (treeId: string, id: string) => samples.set(keyInTree(treeId, id), { treeId, id });
  const ended = new Set<string>();
  const named = new Set<string>();
  const checkpoints = new Set<string>();
  const versions: Version[] = [];
  for (const delivery of slice) {
    if (isOf(delivery, 'TrainingDeclared')) lineages.add(delivery.event.data.lineageId);
    if (isOf(delivery, 'BatchPlanned')) {
      const { lineageId, ordinal, groups } = delivery.event.data;
      batches.push({ lineageId, ordinal });
      for (const { treeId, rolloutIds } of groups) for (const rolloutId of rolloutIds) addSample(treeId, rolloutId);
    }
    if (isOf(delivery, 'SampleRejected')) addSample(delivery.event.data.groupId, delivery.event.data.rolloutId);
    const { data } = delivery.event;
    if ('batchId' in data && typeof data.batchId === 'string') named.add(data.batchId);
    if (isOf(delivery, 'BatchAcked') || isOf(delivery, 'BatchAbandoned')) ended.add(delivery.event.data.batchId);
    if (isOf(delivery, 'CheckpointSaved')) checkpoints.add(delivery.event.data.checkpointId);
    if (isOf(delivery, 'PolicyUpdated')) {
      const { lineageId, version } = delivery.event.data;
      versions.push({ lineageId, version });
    }
  }
  return { lineages, batches, samples, ended, named, checkpoints, versions };
}
