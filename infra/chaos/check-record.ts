import { decode } from '../../src/events/codec.ts';
import type { Platform } from '../../src/platform/open-platform.ts';
import { projections } from '../../src/projections/registry.ts';
import { readTreesOfRun } from '../../src/projections/step-tree/read-trees-of-run.ts';
import { type Ledger, readLedgers } from '../../src/projections/training-pool/read-ledger.ts';
import { digestTrees, type TreeDigest } from '../../src/usecases/datasets/digest-trees.ts';
import { replayProjections } from '../../src/usecases/replay/replay-projections.ts';
import { verifyRecord } from '../../src/usecases/verify/verify-record.ts';

/** One promise, and how far it held. */
export interface Check {
  readonly promise: string;
  /** What was counted against it; 0 when it held. */
  readonly broken: number;
  /** What it was shown on, or what broke it. */
  readonly detail: string;
}

/** What a training came to, in what must not depend on how it went. */
export interface TrainingResult {
  /** SHA-256 of the weights by version. */
  readonly weights: readonly string[];
  readonly trees: readonly TreeDigest[];
}

export async function outcomeOf(platform: Platform, policyId: string, runId: string): Promise<TrainingResult> {
  const versions = await platform.database.db
    .selectFrom('policyVersions')
    .select('weights')
    .where('policyId', '=', policyId)
    .orderBy('version')
    .execute();
  const trees = await platform.database.db.transaction().execute(async (trx) => {
    const found = (await readTreesOfRun(trx, runId)).map(({ treeId }) => ({ treeId, runId }));
    const digests: TreeDigest[] = [];
    for await (const digest of digestTrees(trx, platform.blobs, each(found))) digests.push(digest);
    return digests;
  });
  return { weights: versions.map(({ weights }) => weights), trees };
}

/** Checks everything that is promised of a record, however its processes died. All that was appended must be projected. */
export async function checkRecord(
  platform: Platform,
  given: {
    readonly policyId: string;
    readonly runId: string;
    readonly acknowledged: readonly string[];
    readonly expected: TrainingResult;
  },
): Promise<readonly Check[]> {
  const { expected, policyId, runId } = given;
  const outcome = await outcomeOf(platform, policyId, runId);
  const versions = expected.weights.filter((weights, i) => weights !== outcome.weights[i]).length;
  return [
    await everythingJournalled(platform, given.acknowledged),
    await nothingMisplaced(platform),
    await foldsEqual(platform),
    await ledgerBalances(platform, policyId),
    await trainedOnce(platform),
    await lengthsEqual(platform, policyId),
    {
      promise: 'the same weights as undisturbed',
      broken: Math.max(versions, Math.abs(expected.weights.length - outcome.weights.length)),
      detail: `${outcome.weights.length} versions, the last ${outcome.weights.at(-1)?.slice(0, 12)}`,
    },
    await sameTrees(platform, expected.trees, outcome.trees),
    await intact(platform),
  ];
}

async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/** Compares trees by what happened in them: their ids depend on the run. */
async function sameTrees({ database }: Platform, expected: readonly TreeDigest[], found: readonly TreeDigest[]): Promise<Check> {
  const promise = 'the same trees as undisturbed';
  const undisturbed = new Set(expected.map(({ digest }) => digest));
  const here = new Set(found.map(({ digest }) => digest));
  const others = found.filter(({ digest }) => !undisturbed.has(digest));
  const missing = expected.filter(({ digest }) => !here.has(digest));
  const broken = others.length + missing.length + Math.abs(expected.length - found.length);
  if (broken === 0) return { promise, broken, detail: `${found.length} trees` };
  const { rows } = await database.pool.query<{ tree_id: string; outcomes: string }>(
    `select tree_id, string_agg(concat_ws(' ', r.ordinal, r.outcome, r.success, r.reason), '; ' order by r.ordinal) as outcomes
     from rollouts r where tree_id = any($1::uuid[]) group by tree_id`,
    [others.map(({ treeId }) => treeId)],
  );
  const outcomes = new Map(rows.map((row) => [row.tree_id, row.outcomes]));
  const differing = others.map(({ treeId, alias }) => `${treeId} of task ${alias}: ${outcomes.get(treeId) ?? 'no rollout'}`);
  return {
    promise,
    broken,
    detail: `${found.length} trees, ${expected.length} undisturbed; missing tasks ${missing.map(({ alias }) => alias).join(', ') || 'none'}; ${differing.join(' | ')}`,
  };
}

async function everythingJournalled({ database }: Platform, acknowledged: readonly string[]): Promise<Check> {
  const { rows } = await database.pool.query<{ missing: number }>(
    'select count(*)::int as missing from unnest($1::uuid[]) a(id) where not exists (select from events where event_id = a.id)',
    [[...acknowledged]],
  );
  return {
    promise: 'acknowledged events are journalled',
    broken: rows[0]?.missing ?? 0,
    detail: `${acknowledged.length} acknowledged by the API`,
  };
}

async function nothingMisplaced({ database }: Platform): Promise<Check> {
  const { db } = database;
  // A request whose answer was lost is sent again: the journal keeps the first and notes the second.
  const anomalies = await db.selectFrom('anomalies').select(['kind', 'detail']).where('kind', '!=', 'duplicate').execute();
  const quarantined = await db
    .selectFrom('quarantine')
    .select(['projection', 'reason'])
    .where('requeuedAt', 'is', null)
    .execute();
  const { rows } = await database.pool.query<{ events: number; twice: number }>(
    "select (select count(*)::int from events) as events, (select count(*)::int from anomalies where kind = 'duplicate') as twice",
  );
  const first = anomalies[0] ?? quarantined[0];
  return {
    promise: 'no gap, no disorder, nothing left in quarantine',
    broken: anomalies.length + quarantined.length,
    detail: first ? JSON.stringify(first) : `${rows[0]?.events} events, ${rows[0]?.twice} recorded twice and kept once`,
  };
}

async function foldsEqual(platform: Platform): Promise<Check> {
  const { report, comparisons } = await replayProjections(platform, projections, {
    signal: AbortSignal.timeout(300_000),
    limitMs: 60_000,
    progress: () => undefined,
  });
  const tables = comparisons.flatMap((comparison) => comparison.tables);
  return {
    promise: 'read models equal their fold',
    broken: report.differences.length,
    detail: report.outcome === 'equal' ? `${tables.length} tables` : JSON.stringify(report.differences.slice(0, 3)),
  };
}

async function ledgerBalances({ database }: Platform, policyId: string): Promise<Check> {
  const ledger = await countLedger(database, policyId);
  if (!ledger) return { promise: 'the ledger balances', broken: 1, detail: 'there is no ledger' };
  const { difference, ahead, running, produced, trained, rejected, abandoned, owed } = ledger;
  // strictly on-policy, and the last version is there
  const left = running + owed.group + owed.ready + owed.planned + owed.leased;
  return {
    promise: 'the ledger balances',
    broken: Math.abs(difference) + ahead + left,
    detail: `${produced} produced = ${trained} trained + ${Object.values(rejected).reduce((a, b) => a + b, 0)} rejected + ${abandoned} abandoned; difference ${difference}, owed ${left}`,
  };
}

/** Counts a ledger from the samples alone: what folds counted before would hide one that is lost since. */
async function countLedger({ db }: Platform['database'], policyId: string): Promise<Ledger | undefined> {
  const trx = await db.startTransaction().execute();
  try {
    await trx.deleteFrom('settledSamples').execute();
    return (await readLedgers(trx, [policyId]))[0];
  } finally {
    await trx.rollback().execute();
  }
}

/** Counts from the journal, not from the pool, whose keys would hide it. */
async function trainedOnce({ database }: Platform): Promise<Check> {
  const rows = await database.db
    .selectFrom('events')
    .select('body')
    .where('type', 'in', ['BatchPlanned', 'BatchAcked'])
    .execute();
  const plans = new Map<string, readonly string[]>();
  const acked: string[] = [];
  for (const { body } of rows) {
    const decoded = decode(Buffer.from(body));
    if (decoded.kind !== 'event') continue; // the chain of the journal names what is no event
    const { event } = decoded;
    if (event.type === 'BatchPlanned')
      plans.set(
        event.data.batchId,
        event.data.groups.flatMap(({ rolloutIds }) => rolloutIds),
      );
    if (event.type === 'BatchAcked') acked.push(event.data.batchId);
  }
  const samples = acked.flatMap((batchId) => plans.get(batchId) ?? []);
  return {
    promise: 'no sample is trained twice',
    broken: samples.length - new Set(samples).size,
    detail: `${samples.length} samples of ${acked.length} batches`,
  };
}

async function lengthsEqual({ database }: Platform, policyId: string): Promise<Check> {
  const { rows } = await database.pool.query<{ length: number; produced: number; trained: number }>(
    `with lengths as (
       select r.rollout_id, (select count(*) from steps s where s.tree_id = r.tree_id and s.rollout_id = r.rollout_id)::int as length,
         exists (select from sample_rejections j where j.rollout_id = r.rollout_id) as rejected,
         exists (select from batch_samples b join batch_acks a using (batch_id) where b.rollout_id = r.rollout_id) as trained
       from rollouts r join training_runs u using (run_id)
       where u.policy_id = $1 and u.channel = 'train' and r.finished_at is not null)
     select length, count(*) filter (where not rejected)::int as produced, count(*) filter (where trained)::int as trained
     from lengths group by 1 order by 1`,
    [policyId],
  );
  const broken = rows.filter(({ produced, trained }) => produced !== trained).length + (rows.length === 0 ? 1 : 0);
  return {
    promise: 'lengths trained equal lengths produced',
    broken,
    detail: rows.map(({ length, trained }) => `${trained} of ${length}`).join(', '),
  };
}

async function intact(platform: Platform): Promise<Check> {
  const { faulty, faults, events, blobs, batches } = await verifyRecord(platform, {
    files: [],
    signal: AbortSignal.timeout(300_000),
  });
  return {
    promise: 'verify finds the record intact',
    broken: faulty,
    detail: faults[0] ? JSON.stringify(faults[0]) : `${events} events, ${blobs} blobs, ${batches} batches`,
  };
}
