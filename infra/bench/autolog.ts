import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { childEnvironment, readConfig } from '../../src/runtime/config.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import { type BenchResult, type Figure, median } from './bench-result.ts';
import { homeOf, type Size, type Stage, serveStage } from './stage.ts';

const ROUNDS: Record<Size, number> = { full: 5, quick: 1 };
const CALLS: Record<Size, number> = { full: 30, quick: 2 }; // of a round, of each kind and way

/** What autolog_calls.py prints: the milliseconds of each call, by kind and way. */
type Took = Readonly<Record<'whole' | 'streamed', Readonly<Record<'with' | 'without', readonly number[]>>>>;

/**
 * Measures what a program pays for `er.autolog()`: chat completions by the openai client from a stand-in model server, which answers
 * with token ids and log-probabilities where it is asked for them, with autolog and without it in turn. Calls are recorded into a
 * server of this process meanwhile.
 */
export async function benchAutolog(stage: Stage): Promise<BenchResult> {
  const { url, key } = await serveStage(stage);
  const script = fileURLToPath(new URL('./calls/autolog_calls.py', import.meta.url));
  const env = childEnvironment({
    PYTHONPATH: PYTHON_PACKAGE,
    PYTHONDONTWRITEBYTECODE: '1',
    ESPALIER_URL: url,
    ESPALIER_TOKEN: key,
    ESPALIER_SPOOL: await homeOf(stage),
  });
  const [rounds, calls] = [ROUNDS[stage.size], CALLS[stage.size]];
  const python = readConfig().python ?? 'python3';
  const { stdout } = await promisify(execFile)(python, [script, `${rounds}`, `${calls}`], { env });
  const took = JSON.parse(stdout) as Took; // printed by it
  const figures = (['whole', 'streamed'] as const).flatMap((kind): readonly Figure[] => {
    const [recorded, plain] = [median(took[kind].with), median(took[kind].without)];
    const baseline = { name: 'without it', value: plain, unit: 'ms' as const };
    return [
      {
        name: `a ${kind} call with autolog, median`,
        value: recorded,
        unit: 'ms',
        baseline,
        floor: { kind: 'ratio-at-most', limit: 1.03 },
      },
      {
        name: `what autolog adds to a ${kind} call`,
        value: recorded - plain,
        unit: 'ms',
        baseline: null,
        floor: { kind: 'below', limit: 1 },
      },
    ];
  });
  return {
    bench: 'autolog',
    figures,
    conditions: {
      calls: `${rounds * calls} of each kind and way, in turn`,
      request: '9 messages of 1.1 kB',
      answer: '50 tokens after 50 ms, 1 ms each; 2,000 ids of the prompt, and log-probabilities',
      ...stage.conditions(),
    },
  };
}
