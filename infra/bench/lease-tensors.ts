import './production.ts';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serveApi } from '../../src/app/serve-api.ts';
import { childEnvironment, readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import { LOCAL_TOKEN } from '../../src/testing/local-token.ts';
import { openLeaseService } from '../../src/usecases/train/open-lease-service.ts';
import { fillBatches } from './fill-batches.ts';
import { describeOutcome, isMet, type Outcome } from './outcome.ts';
import { openStage, type Size, type Stage } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';

const SCRIPT = fileURLToPath(new URL('./lease_tensors.py', import.meta.url));
const SAMPLES: Record<Size, number> = { full: 1_024, quick: 16 };
const TOKENS = 4_000; // with 1,024 samples a body of some 86 MB
const ROUNDS = 5;
const MOST = 0.1; // of the time of the transfer

/** Seconds, medians. */
interface Found {
  readonly transfer: number;
  readonly tensors: number;
  readonly copied: number;
  readonly padded: number;
  readonly bytes: number;
  readonly columns: number;
  readonly rows: number;
  readonly torch: string;
}

/**
 * Measures what the Python client adds to the transfer of a leased body (loopback, rows packed before) until every column is a
 * torch tensor over the bytes that were received; next to it the safetensors package, which copies, and rectangles for trainers
 * that read those. @throws Error where Python has no torch.
 */
export async function benchLeaseTensors(stage: Stage, python: string): Promise<Outcome> {
  const platform = await openStagePlatform(stage);
  await fillBatches(platform.database.db, { policyId: 'tensors', batches: 1, samples: SAMPLES[stage.size], tokens: TOKENS });
  const registered = { policyId: 'tensors', backend: 'bench', weights: 'a'.repeat(64), kept: null };
  const answer = await openLeaseService(platform).registerPolicy(registered);
  if (answer.kind === 'refused') throw new Error(answer.message);
  const server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const env = childEnvironment({ PYTHONPATH: PYTHON_PACKAGE, PYTHONDONTWRITEBYTECODE: '1', ESPALIER_TOKEN: LOCAL_TOKEN });
  const { stdout } = await promisify(execFile)(python, [SCRIPT, server.url, 'tensors', `${ROUNDS}`], { env });
  const found: Found = JSON.parse(stdout);
  const transfer = { name: 'the transfer of the body', value: found.transfer * 1_000, unit: 'ms' } as const;
  const figure = (name: string, seconds: number) => ({ name, value: seconds * 1_000, unit: 'ms', baseline: transfer }) as const;
  return {
    bench: 'lease-tensors',
    figures: [
      { ...figure('leased body to torch tensors', found.tensors), goal: { kind: 'share', most: MOST } },
      { ...figure('the same by the safetensors package, which copies', found.copied), goal: null },
      { ...figure('tensors to rectangles of four columns', found.padded), goal: null },
    ],
    conditions: {
      bytes: found.bytes,
      columns: found.columns,
      rows: found.rows,
      'tokens per row': TOKENS,
      rounds: `${ROUNDS}, medians`,
      torch: found.torch,
      ...stage.conditions(),
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const stage = openStage('full');
  try {
    const outcome = await benchLeaseTensors(stage, readConfig().python ?? 'python3');
    process.stdout.write(`${describeOutcome(outcome)}\n`);
    if (outcome.figures.some((figure) => isMet(figure) === false)) process.exitCode = 1;
  } finally {
    await stage.close();
  }
}
