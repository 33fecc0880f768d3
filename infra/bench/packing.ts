import './production.ts';
import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childEnvironment, readConfig } from '../../src/runtime/config.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import { describeOutcome, isMet, type Outcome } from './outcome.ts';

const GOAL = { kind: 'ratio', least: 1.8 } as const;
const SCRIPT = fileURLToPath(new URL('./packing.py', import.meta.url));
const LARGEST_DIFFERENCE = 1e-5; // of the losses

interface Found {
  readonly packed: Way;
  readonly padded: Way;
  readonly rows: number;
  readonly tokens: number;
  readonly paddedTokens: number;
  readonly parameters: number;
  readonly torch: string;
}
interface Way {
  readonly loss: number;
  readonly tokensPerSecond: number;
}

/**
 * Measures packed against padded rows of a skewed mix of lengths in one process. @throws Error where the losses differ, or Python
 * has no torch.
 */
export async function benchPacking(python: string, sizes: { readonly rows: number; readonly longest: number }): Promise<Outcome> {
  const env = childEnvironment({ PYTHONPATH: PYTHON_PACKAGE, PYTHONDONTWRITEBYTECODE: '1' });
  const { stdout } = await promisify(execFile)(python, [SCRIPT, `${sizes.rows}`, `${sizes.longest}`, '3'], { env });
  const found: Found = JSON.parse(stdout.slice(stdout.indexOf('{')));
  const { packed, padded } = found;
  if (!(Math.abs(packed.loss - padded.loss) <= LARGEST_DIFFERENCE))
    throw new Error(`the losses differ: packed ${packed.loss}, padded ${padded.loss}`);
  const figure = {
    name: 'packed rows',
    value: packed.tokensPerSecond,
    unit: 'tokens/s' as const,
    baseline: { name: 'padded rows', value: padded.tokensPerSecond, unit: 'tokens/s' as const },
    goal: GOAL,
  };
  const { rows, tokens, paddedTokens, parameters, torch } = found;
  return {
    bench: 'packing',
    figures: [figure],
    conditions: {
      cores: availableParallelism(),
      torch,
      device: 'cpu, one thread',
      parameters,
      rows,
      tokens,
      'padded to': paddedTokens,
      loss: packed.loss,
      'difference of the losses': Math.abs(packed.loss - padded.loss),
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const outcome = await benchPacking(readConfig().python ?? 'python3', { rows: 64, longest: 768 });
  process.stdout.write(`${describeOutcome(outcome)}\n`);
  if (outcome.figures.some((figure) => isMet(figure) === false)) process.exitCode = 1;
}
