import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '../../../testing/until.ts';
import { runTrainer, type TrainerTask } from './run-trainer.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-rl-'));
});
afterAll(() => rm(folder, { recursive: true }));

const task: TrainerTask = {
  dataset: '/data/rows.jsonl',
  datasetId: 'id',
  sha256: 'a'.repeat(64),
  format: 'xtuner',
  policy: '{"kind":"linear"}',
  method: 'agent-r',
  seed: 3,
  iteration: 2,
  epochs: 1,
  learningRate: 0.05,
};
const running = (command: string, timeoutMs = 60_000, signal = new AbortController().signal) =>
  runTrainer({ command, timeoutMs }, task, folder, signal);
const endpoint = '{"kind":"openai","model":"tuned","baseUrl":"http://127.0.0.1:8000/v1"}';

describe('runTrainer', () => {
  test('the trainer receives all it needs on top of the environment of this process, and its policy is read', async () => {
    const { spec, out } = await running(`env > "$ESPALIER_OUT/environment"; echo '${endpoint}' > "$ESPALIER_OUT/policy.json"`);
    expect(spec).toEqual({ kind: 'openai', model: 'tuned', baseUrl: 'http://127.0.0.1:8000/v1' });
    const recorded = (await readFile(join(out, 'environment'), 'utf8')).split('\n');
    expect(recorded.filter((line) => line.startsWith('PATH='))).toHaveLength(1);
    expect(recorded).toEqual(
      expect.arrayContaining([
        ...[
          'ESPALIER_DATASET=/data/rows.jsonl',
          'ESPALIER_MANIFEST=/data/_manifests/rows.manifest-jsonl',
          'ESPALIER_DATASET_ID=id',
        ],
        ...[`ESPALIER_DATASET_SHA256=${'a'.repeat(64)}`, 'ESPALIER_FORMAT=xtuner', 'ESPALIER_POLICY={"kind":"linear"}'],
        ...[
          'ESPALIER_METHOD=agent-r',
          'ESPALIER_SEED=3',
          'ESPALIER_ITERATION=2',
          'ESPALIER_EPOCHS=1',
          'ESPALIER_LEARNING_RATE=0.05',
        ],
      ]),
    );
  });

  test('weights without a description are those of a linear policy, in a folder that no earlier attempt has touched', async () => {
    const leaving = 'test -z "$(ls "$ESPALIER_OUT" | grep -v trainer.log)" && echo w > "$ESPALIER_OUT/weights.espw"';
    const attempts = [await running(leaving), await running(leaving)];
    expect(attempts.map(({ spec }) => spec)).toEqual(
      Array.from({ length: 2 }, () => ({ kind: 'linear', weightsFile: 'weights.espw' })),
    );
    expect(new Set(attempts.map(({ out }) => out)).size).toBe(2);
  });

  test.each([
    ['an exit code', 'echo no memory >&2; exit 3', /ended with 3 \(it said last: no memory\).*trainer\.log/],
    ['a signal that ended it', 'kill -9 $$', /ended with SIGKILL \(it said nothing\)/],
    ['a command that is not there', 'no-such-trainer', /ended with 127 .*no-such-trainer/],
    ['nothing left', 'true', /left neither policy\.json nor weights\.espw/],
    ['no JSON', 'echo nonsense > "$ESPALIER_OUT/policy.json"', /policy\.json that is no policy/],
    [
      'another kind of policy',
      `echo '{"kind":"oracle"}' > "$ESPALIER_OUT/policy.json"`,
      /must be one of random, planner, linear, live, openai/,
    ],
  ])('the failure of a trainer names its cause: %s', async (_, command, message) => {
    await expect(running(command)).rejects.toMatchObject({ name: 'TrainerFailed', message: expect.stringMatching(message) });
  });

  test('a trainer past its time limit is ended with all its children', async () => {
    const mark = join(folder, 'started');
    await expect(running(`(sleep 600; true) & echo $! > ${mark}; wait`, 300)).rejects.toThrow(
      'took more than 0.3 s and was ended',
    );
    const pid = Number(await readFile(mark, 'utf8'));
    await until(async () => !alive(pid));
  });

  test('an aborted trainer is ended without an error of its own', async () => {
    const stopping = new AbortController();
    const over = running(`touch ${folder}/begun; sleep 600`, 60_000, stopping.signal);
    const settled = over.then(
      () => 'done',
      (error: unknown) => error,
    );
    await until(async () => (await readFile(join(folder, 'begun')).catch(() => null)) !== null);
    stopping.abort();
    expect(await settled).toBe(stopping.signal.reason);
  });
});

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
