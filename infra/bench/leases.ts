import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { to as copyTo } from 'pg-copy-streams';
import { serveApi } from '../../src/app/serve-api.ts';
import { startInThread } from '../../src/app/start-in-thread.ts';
import { connect } from '../../src/postgres/pool.ts';
import { childEnvironment, readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import { LOCAL_TOKEN } from '../../src/testing/local-token.ts';
import { openLeaseService } from '../../src/usecases/train/open-lease-service.ts';
import { type BenchResult, median } from './bench-result.ts';
import { fillBatches } from './fill-batches.ts';
import { openStagePlatform, type Size, type Stage, type StageDatabase } from './stage.ts';

const POLICY = 'bench';
const TOKENS = 1_000;
const BATCHES: Record<Size, number> = { full: 9, quick: 2 };
const SAMPLES: Record<Size, number> = { full: 1_024, quick: 16 };
const PLANNED_MS: Record<Size, number> = { full: 6_000, quick: 100 }; // rollouts of a batch take minutes

/** What leases_client.py prints: seconds of each batch, from asking for the lease until every column is a typed view. */
interface Leased {
  readonly seconds: readonly number[];
  readonly bytes: number;
}

/**
 * Measures what a trainer gets: batches of 1,024 samples of 1,000 tokens over HTTP by the Python client in a process of its own,
 * compared with COPY BINARY of the same token arrays. They were planned before, and the server had time to pack them.
 */
export async function benchLeases(stage: Stage): Promise<BenchResult> {
  const platform = await openStagePlatform(stage);
  const database = await stage.database();
  const projector = await startInThread('project', platform, SILENT);
  stage.closing(() => projector.close());
  const [batches, samples] = [BATCHES[stage.size], SAMPLES[stage.size]];
  await fillBatches(database.db, { policyId: POLICY, batches, samples, tokens: TOKENS });
  const registered = { policyId: POLICY, backend: 'bench', weights: 'a'.repeat(64), kept: null };
  const answer = await openLeaseService(platform).registerPolicy(registered);
  if (answer.kind === 'refused') throw new Error(answer.message);
  const copied = await copyTokens(database, batches);
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  await delay(PLANNED_MS[stage.size]);
  const { seconds, bytes } = await leaseInPython(server.url, batches);
  return {
    bench: 'leases',
    figures: [
      {
        name: 'lease to columns over HTTP, by the Python client',
        value: bytes / batches / median(seconds) / 1e6,
        unit: 'MB/s',
        baseline: { name: 'COPY BINARY of the token arrays', value: copied, unit: 'MB/s' },
        floor: { kind: 'at-least', limit: 400 },
      },
    ],
    conditions: {
      batches: `${batches} of ${samples} samples, the median; planned ${PLANNED_MS[stage.size] / 1_000} s before a trainer comes, and packed meanwhile`,
      'tokens per sample': TOKENS,
      'bytes per sample': Math.round(bytes / batches / samples),
      ...stage.conditions(),
    },
  };
}

async function leaseInPython(url: string, batches: number): Promise<Leased> {
  const script = fileURLToPath(new URL('./leases_client.py', import.meta.url));
  const env = childEnvironment({ PYTHONPATH: PYTHON_PACKAGE, PYTHONDONTWRITEBYTECODE: '1', ESPALIER_TOKEN: LOCAL_TOKEN });
  const { stdout } = await promisify(execFile)(readConfig().python ?? 'python3', [script, url, POLICY, `${batches}`], { env });
  return JSON.parse(stdout) as Leased; // printed by it
}

/** Megabytes a second of one batch's token arrays, read by one statement and dropped. */
async function copyTokens({ url }: StageDatabase, batches: number): Promise<number> {
  const client = await connect(url, 'bench copy');
  try {
    const rates: number[] = [];
    for (let ordinal = 0; ordinal < batches; ordinal++) {
      let bytes = 0;
      const began = performance.now();
      const query = `select s.token_bytes from batches b join batch_samples m using (batch_id) join rollouts r using (rollout_id)
        join steps s on s.step_id = r.leaf_step_id where b.policy_id = '${POLICY}' and b.ordinal = ${ordinal}`;
      for await (const chunk of client.query(copyTo(`copy (${query}) to stdout (format binary)`))) bytes += chunk.byteLength;
      rates.push(bytes / (performance.now() - began) / 1_000);
    }
    return median(rates);
  } finally {
    await client.end();
  }
}
