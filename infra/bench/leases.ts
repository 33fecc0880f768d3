import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { projectInThread } from '../../src/app/project-in-thread.ts';
import { serveApi } from '../../src/app/serve-api.ts';
import { openPlatform } from '../../src/platform/open-platform.ts';
import { eachCopied } from '../../src/postgres/copy-out.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import type { LeaseService } from '../../src/training/leases/lease-service.ts';
import { encodeRows } from '../../src/training/rows/encode-rows.ts';
import { readBatchRows } from '../../src/training/rows/read-batch-rows.ts';
import { openLeaseService } from '../../src/usecases/train/open-lease-service.ts';
import { fillBatches } from './fill-batches.ts';
import { decode, type TrainedThere, trainFromOutside, trainInPython } from './leases-client.ts';
import type { Figure, Outcome } from './outcome.ts';
import { median, percentile } from './percentile.ts';
import type { Size, Stage, StageDatabase } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';
import { type Claimed, timeClaims } from './time-claims.ts';

const TOKENS = 1_000;
const BATCHES: Record<Size, number> = { full: 9, quick: 2 };
const SAMPLES: Record<Size, number> = { full: 1_024, quick: 16 };
const CLAIMS: Record<Size, number> = { full: 512, quick: 16 };
const TRAINERS = 16; // that claim at once
const UNTRAINED: Record<Size, number> = { full: 100_000, quick: 100 };
const TRAIN_MS = 2_000; // an update of a small model; those of large ones take minutes
const PLANNED_MS: Record<Size, number> = { full: 6_000, quick: 100 }; // rollouts of a batch take minutes
const MEGABYTES = 400; // a second
const SHARE = 0.7; // of COPY BINARY
const SHORT = 16; // tokens of the samples that only wait: how many there are is what counts

/**
 * Measures what a trainer gets: batches of 1,024 samples of 1,000 tokens over HTTP, from asking for the lease until every column
 * is a typed view, by the Python client in a process of its own, compared with COPY BINARY of the same token arrays. They were
 * planned before, and the server had time to pack them; `in process` is what packing takes. Then the time of a claim
 * (transaction, outbox, append to the log) by one trainer and by many at once, and that of a start with many untrained samples.
 */
export async function benchLeases(stage: Stage): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  const database = await stage.database();
  const projector = await projectInThread(platform, SILENT);
  stage.closing(() => projector.close());
  const service = openLeaseService(platform);
  const [batches, samples] = [BATCHES[stage.size], SAMPLES[stage.size]];
  await givenPolicy(service, database, 'inside', batches, samples, TOKENS);
  const plain = await copyTokens(database, 'inside', batches);
  const inside = await trainInside(service, platform, batches);
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const planned = async (policyId: string) => {
    await givenPolicy(service, database, policyId, batches, samples, TOKENS);
    await delay(PLANNED_MS[stage.size]);
    return { url: server.url, policyId, batches };
  };
  const outside = await trainFromOutside(await planned('outside'));
  const python = await trainInPython(await planned('python'), 0);
  const ahead = await trainInPython(await planned('ahead'), TRAIN_MS);
  const claims = CLAIMS[stage.size];
  const alone = await timeClaims(service, database, { trainers: 1, rounds: claims });
  const crowd = await timeClaims(service, database, { trainers: TRAINERS, rounds: claims / TRAINERS });
  const resumeMs = await timeResume(stage, service, database);
  return {
    bench: 'leases',
    figures: [
      {
        name: 'lease to decoded over HTTP, by the Python client',
        value: samples / median(python.seconds),
        unit: 'samples/s',
        baseline: { name: 'COPY BINARY of the token arrays', value: samples / plain, unit: 'samples/s' },
        goal: { kind: 'ratio', least: SHARE },
      },
      bytesFigure('the same in bytes', python),
      { ...bytesFigure('by a program of node:http that looks at every token', outside), goal: null },
      {
        name: `with ${TRAIN_MS / 1_000} s of training between batches`,
        value: samples / median(ahead.seconds),
        unit: 'samples/s',
        baseline: null,
        goal: { kind: 'at-least', limit: 5_000 },
      },
      bytesFigure('the same in bytes', ahead),
      { name: 'in process, rows read and packed', value: samples / inside, unit: 'samples/s', baseline: null, goal: null },
      claimFigure('claim until its event is in the log, p99', 'one UPDATE, p99', alone.claims, alone.updates),
      claimFigure('the same', 'one UPDATE behind each, p99', alone.claims, alone.between),
      claimFigure(`the same, ${TRAINERS} trainers at once, p99`, `${TRAINERS} UPDATEs at once, p99`, crowd.claims, crowd.updates),
      claimFigure('the same', 'one UPDATE behind each, p99', crowd.claims, crowd.between),
      {
        name: `start to the first batch decoded, ${UNTRAINED[stage.size].toLocaleString('en')} samples untrained`,
        value: resumeMs,
        unit: 'ms',
        baseline: null,
        goal: { kind: 'below', limit: 5_000 },
      },
    ],
    conditions: {
      batches: `${batches} of ${samples} samples, the median; planned ${PLANNED_MS[stage.size] / 1_000} s before a trainer comes, and packed meanwhile`,
      'tokens per sample': TOKENS,
      'bytes per sample': Math.round(outside.bytes / outside.samples),
      claims,
      'claim, median of one trainer': `${median(alone.claims).toFixed(1)} ms`,
      ...stage.conditions(),
    },
  };
}

function claimFigure(name: string, plain: string, claims: Claimed['claims'], updates: Claimed['updates']): Figure {
  const baseline = { name: plain, value: percentile(updates, 0.99), unit: 'ms' } as const;
  return { name, value: percentile(claims, 0.99), unit: 'ms', baseline, goal: null };
}

function bytesFigure(name: string, { bytes, seconds }: Pick<TrainedThere, 'bytes' | 'seconds'>): Figure {
  const value = bytes / seconds.length / median(seconds) / 1e6;
  return { name, value, unit: 'MB/s', baseline: null, goal: { kind: 'at-least', limit: MEGABYTES } };
}

async function givenPolicy(
  service: LeaseService,
  { db }: StageDatabase,
  policyId: string,
  batches: number,
  samples: number,
  tokens: number,
) {
  await fillBatches(db, { policyId, batches, samples, tokens });
  const answer = await service.registerPolicy({ policyId, backend: 'bench', weights: 'a'.repeat(64), kept: null });
  if (answer.kind === 'refused') throw new Error(answer.message);
}

async function leaseOf(service: LeaseService, policyId: string) {
  const answer = await service.lease({ policyId, consumer: 'bench', ttlMs: 600_000 });
  if (answer.kind !== 'leased') throw new Error(`no batch of ${policyId}: ${JSON.stringify(answer)}`);
  return answer.lease;
}

/** Seconds of one batch's token arrays, read by one statement and left where they are. */
async function copyTokens({ db }: StageDatabase, policyId: string, batches: number): Promise<number> {
  const seconds: number[] = [];
  for (let ordinal = 0; ordinal < batches; ordinal++) {
    const began = performance.now();
    const query = sql`select s.token_bytes from batches b join batch_samples m using (batch_id) join rollouts r using (rollout_id)
      join steps s on s.step_id = r.leaf_step_id where b.policy_id = ${sql.lit(policyId)} and b.ordinal = ${sql.lit(ordinal)}`;
    await eachCopied(db, query, () => undefined);
    seconds.push((performance.now() - began) / 1_000);
  }
  return median(seconds);
}

async function trainInside(
  service: LeaseService,
  platform: Parameters<typeof openLeaseService>[0],
  batches: number,
): Promise<number> {
  const seconds: number[] = [];
  for (let i = 0; i < batches; i++) {
    const began = performance.now();
    const { leaseId, fence, batchId, base } = await leaseOf(service, 'inside');
    const encoded = encodeRows(await readBatchRows(platform.database.db, platform.blobs, batchId), 'step');
    if (encoded.kind === 'refused') throw new Error(encoded.message);
    seconds.push((performance.now() - began) / 1_000);
    const made = { version: base.version + 1, checkpointId: crypto.randomUUID(), backend: 'bench', weights: 'b'.repeat(64) };
    await service.ack({ leaseId, fence, ...made, kept: null, loss: null, metrics: {} });
  }
  return median(seconds);
}

/** Milliseconds from nothing open to the first batch decoded, with `UNTRAINED` samples that wait in 100 batches. */
async function timeResume(stage: Stage, service: LeaseService, database: StageDatabase): Promise<number> {
  const batches = 100;
  await givenPolicy(service, database, 'waiting', batches, UNTRAINED[stage.size] / batches, SHORT);
  const { config } = await openStagePlatform(stage);
  const began = performance.now();
  const platform = await openPlatform(config, 'bench');
  try {
    const { batchId } = await leaseOf(openLeaseService(platform), 'waiting');
    const encoded = encodeRows(await readBatchRows(platform.database.db, platform.blobs, batchId), 'step');
    if (encoded.kind === 'refused') throw new Error(encoded.message);
    decode(Buffer.concat(encoded.parts));
    return performance.now() - began;
  } finally {
    await platform.close();
  }
}
