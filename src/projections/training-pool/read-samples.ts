import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { keyInTree, keyOf, type OfTree, pairsOf } from '../of-tree.ts';
import { OF_ITS_PROJECT } from './of-its-project.ts';

/** What became of a sample. */
export type SampleState = 'trained' | 'rejected' | 'abandoned' | 'group' | 'ready' | 'planned' | 'leased';

/** A rollout as a training sample: what became of it. Lengths are tokens. */
export interface SampleRecord {
  readonly rolloutId: string;
  readonly treeId: string;
  readonly policyId: string;
  readonly state: SampleState;
  /** Why it is never trained on, where it was rejected. */
  readonly reason: string | null;
  readonly rule: string | null;
  readonly measured: number | null;
  readonly batchId: string | null;
  /** Its place in its batch, counted through all groups; null outside a batch. */
  readonly place: number | null;
  readonly oldestVersion: number | null;
  readonly newestVersion: number | null;
  /** Versions between its oldest span and the version that its batch is trained on. */
  readonly staleness: number | null;
  readonly sampledTokens: number;
  readonly contextTokens: number;
  readonly scores: Readonly<Record<string, number>>;
}

/** Reads the finished rollouts among those named that may train a policy, in one statement, in no order. */
export async function readSamples(db: Db, rollouts: readonly OfTree[]): Promise<readonly SampleRecord[]> {
  return samplesWhere(db, sql`(s.rollout_id, s.tree_id) in (select w.id, w.tree_id from ${pairsOf(rollouts)} w)`);
}

/** A run of places of a batch. */
export interface BatchPart {
  readonly batchId: string;
  readonly from: number;
  readonly first: number;
}

/** Reads parts of batches, each in its order, in two statements. A sample whose end was not read yet is left out. */
export async function readSamplesOfBatches(db: Db, parts: readonly BatchPart[]): Promise<readonly (readonly SampleRecord[])[]> {
  const ids = parts.map(({ batchId }) => batchId);
  const from = parts.map((part) => part.from);
  const to = parts.map((part) => part.from + part.first);
  const wanted = sql`select p.part, w.tree_id, w.rollout_id as id from unnest(${ids}::uuid[], ${from}::int[], ${to}::int[]) with ordinality as p(batch_id, low, high, part)
    join batch_samples w on w.batch_id = p.batch_id and w.place >= p.low and w.place < p.high`;
  const { rows: places } = await sql<OfTree & { readonly part: number }>`${wanted}`.execute(db);
  const named = new Map(places.map((place) => [keyOf(place), place]));
  const read = await readSamples(db, [...named.values()]);
  const samples = new Map(read.map((sample) => [keyInTree(sample.treeId, sample.rolloutId), sample]));
  const lists = parts.map((): SampleRecord[] => []);
  for (const place of places) {
    const sample = samples.get(keyOf(place));
    if (sample) lists[place.part - 1]?.push(sample);
  }
  return lists.map((list) => list.sort((a, b) => (a.place ?? 0) - (b.place ?? 0)));
}

async function samplesWhere(db: Db, where: RawBuilder<unknown>): Promise<readonly SampleRecord[]> {
  const { rows } = await sql<SampleRecord>`
    select s.rollout_id, s.tree_id, r.policy_id,
           case when x.rollout_id is not null then 'rejected' when a.batch_id is not null then 'trained'
                when exists (select from batch_abandonments y where y.batch_id = b.batch_id) then 'abandoned'
                when exists (select from leases l where l.batch_id = b.batch_id and l.leased_at is not null and l.ended_at is null) then 'leased'
                when b.batch_id is not null then 'planned' when g.closed_at is not null then 'ready' else 'group' end as state,
           x.reason, x.rule, x.measured, b.batch_id, b.place, s.oldest_version,
           s.newest_version, p.policy_version - s.oldest_version as staleness,
           s.sampled_tokens, s.context_tokens, s.scores
    from samples s join groups g using (tree_id) join training_runs r using (run_id)
    left join batch_samples b on b.rollout_id = s.rollout_id and b.tree_id = s.tree_id and b.policy_id = r.policy_id
    left join batches p on p.batch_id = b.batch_id
    left join batch_acks a on a.batch_id = b.batch_id
    left join sample_rejections x on x.rollout_id = s.rollout_id and x.tree_id = s.tree_id and x.policy_id = r.policy_id
    where ${where} and s.finished_at is not null and r.channel = 'train' and ${OF_ITS_PROJECT}`.execute(db);
  return rows;
}

/** How many samples were how many versions old, of a policy's batches or of one batch. */
export interface StalenessBin {
  /** The policy or the batch. */
  readonly of: string;
  readonly staleness: number;
  readonly samples: number;
}

/** Counts the samples in batches by their staleness, the freshest first, for each policy or for each batch, in one statement. */
export async function readStaleness(
  db: Db,
  by: 'policies' | 'batches',
  ids: readonly string[],
): Promise<readonly StalenessBin[]> {
  const [key, type] = by === 'policies' ? [sql.ref('p.policyId'), sql.raw('text')] : [sql.ref('p.batchId'), sql.raw('uuid')];
  const { rows } = await sql<StalenessBin>`
    select ${key} as "of", p.policy_version - s.oldest_version as staleness, count(*) as samples
    from batches p join batch_samples b using (batch_id) join samples s using (rollout_id, tree_id)
    where ${key} = any(${[...ids]}::${type}[]) and s.oldest_version is not null
    group by 1, 2 order by 1, 2`.execute(db);
  return rows;
}
