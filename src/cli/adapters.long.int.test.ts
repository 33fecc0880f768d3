import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { startOpenAiServer } from '../testing/openai-server.ts';
import { adaptersForTests } from '../testing/python.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

const found = await adaptersForTests();
const python = found.kind === 'found' ? found.python : '';

let platform: Platform & { readonly home: string };
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-adapters-'));
  platform = await openTestPlatform();
});
afterAll(async () => {
  await killRunning();
  await platform.close();
  await rm(folder, { recursive: true });
});

/** Runs a command with the Python that has the packages. */
const espalier = (...args: readonly string[]) => runInProcess(args, { ...environmentOf(platform), ESPALIER_PYTHON: python });

/** Runs a command to its success and returns what it printed. */
async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await espalier(...args);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** Writes a module that makes an environment, and returns its address. */
async function written(name: string, source: string): Promise<string> {
  const file = join(folder, `${name}.py`);
  await writeFile(file, source);
  return `python:${file}`;
}

const LAKE = `
import gymnasium
from gymnasium.envs.toy_text.frozen_lake import generate_random_map
from espalier_rl import from_gymnasium

lake = from_gymnasium(
    lambda task: gymnasium.make("FrozenLake-v1", desc=generate_random_map(size=4, seed=int(task)), is_slippery=False, render_mode="ansi"),
    actions=["left", "down", "right", "up"],
    seeds=8,
)
`;

const COUNT = `
import verifiers as vf
from datasets import Dataset
from espalier_rl import from_verifiers

def counted(completion, answer):
    return float(completion[-2].content == answer)

def polite(completion):
    return float("please" in completion[0].content)

class Count(vf.MultiTurnEnv):
    async def env_response(self, messages, state, **kwargs):
        if messages[-1].content == state["answer"]:
            state["final_env_response"] = [vf.UserMessage(content="Yes.")]
            return state["final_env_response"]
        return [vf.UserMessage(content="No, count again.")]

count = from_verifiers(
    Count(
        dataset=Dataset.from_list([{"question": f"How many letters has {word}?", "answer": str(len(word))} for word in ("at", "cat", "seed")]),
        rubric=vf.Rubric(funcs=[counted, polite], weights=[1.0, 0.5]),
        max_turns=4,
    ),
    components=["polite"],
)
`;

(found.kind === 'found' ? describe : describe.skip)(
  `environments of other packages (${found.kind === 'found' ? found.versions : `skipped: ${found.reason}`})`,
  () => {
    test('the Python tests of the adapters pass with the real packages', async () => {
      const said = await new Promise<string>((resolve) => {
        const command = ['-W', 'ignore', '-m', 'unittest', 'discover', '-s', 'tests_environments', '-t', '.'];
        const options = {
          cwd: 'python',
          env: { ...process.env, HF_HUB_OFFLINE: '1' },
          timeout: 540_000,
          maxBuffer: 16 * 2 ** 20,
        };
        execFile(python, command, options, (_error, stdout, stderr) => resolve(stdout + stderr));
      });
      expect(said.slice(-4_000)).toMatch(/\nRan [1-9]\d* tests in [^\n]*\n\nOK/);
    }, 600_000);

    test('an environment of Gymnasium is collected from and searched, and everything that was executed comes out equal again', async () => {
      const environment = await written('lake', LAKE);
      const [walked, searched] = ['99999999-0000-4000-8000-000000000001', '99999999-0000-4000-8000-000000000002'];
      const collect = ['collect', '--environment', environment, '--policy', 'random', '--tasks', '3'];
      expect(await done(...collect, '--run', walked, '--rollouts', '2', '--max-steps', '10')).toContain('completed: 6 rollouts');
      await done(...collect, '--run', searched, '--search', 'mcts', '--iterations', '3', '--max-depth', '4');
      for (const run of [walked, searched])
        expect(await done('replay', 'environment', '--run', run)).toContain('equal: environment');
    });

    test('an environment of verifiers is collected from, and parts of its rubric are rewards by themselves', async () => {
      const environment = await written('count', COUNT);
      const model = await startOpenAiServer({ reply: ({ messages }) => (messages.length > 3 ? '3' : 'please') });
      const run = '99999999-0000-4000-8000-000000000003';
      const how = ['--policy', `openai:stand-in@${model.url}`, '--tasks', '3', '--rollouts', '1'];
      expect(await done('collect', '--environment', environment, '--run', run, ...how)).toContain('completed: 3 rollouts');
      await model.close();
      const { db } = platform.database;
      const rewards = await db.selectFrom('rewards').select(['component', 'value']).where('value', '>', 0).execute();
      expect(rewards).toContainEqual({ component: 'polite', value: 0.5 / 1.5 });
      expect(rewards).toContainEqual({ component: 'environment', value: 1 / 1.5 });
      expect(await done('replay', 'environment', '--run', run)).toContain('equal: environment');
    });

    test('an environment whose observations are no text is refused before a run begins', async () => {
      const environment = await written(
        'pole',
        'import gymnasium\nfrom espalier_rl import from_gymnasium\npole = from_gymnasium(lambda task: gymnasium.make("CartPole-v1"))\n',
      );
      const { code, stderr } = await espalier('collect', '--environment', environment, '--policy', 'random', '--tasks', '1');
      expect(code).toBe(1);
      expect(stderr).toContain('which is no text: pass observe=lambda observation, env: TEXT');
    });
  },
);
