import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { environmentOf } from '../testing/crashing-run.ts';
import { startOpenAiServer } from '../testing/openai-server.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

afterEach(killRunning);
const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });
let env: Readonly<Record<string, string>>;
beforeEach(() => {
  env = environmentOf(platform);
});

const SHOP = 'webshop-generated:products=48;seed=3';
const RUN = '88888888-0000-4000-8000-000000000001';

/** Runs a command to its success and returns what it printed. */
async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runEspalier(args, env);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}
const collect = (...more: readonly string[]) => done('collect', '--environment', SHOP, '--run', RUN, '--tasks', '4', ...more);

test('a search of the shop copies its episodes, and everything that was executed comes out equal again', async () => {
  await collect('--search', 'mcts', '--policy', 'planner:0.5', '--iterations', '4', '--candidates', '2', '--max-depth', '6');
  expect(await done('replay', 'environment', '--run', RUN)).toContain('equal: environment');
});

test('what a run in the shop earned is reported under the published names', async () => {
  expect(await collect('--policy', 'planner', '--rollouts', '1', '--max-steps', '15')).toContain('4 succeeded');
  const metrics = JSON.parse(await done('--json', 'published-metrics', RUN)) as { name: string; value: number; count: number }[];
  expect(metrics).toContainEqual({ name: 'episode/success_rate', value: 1, count: 4 });
  expect(metrics).toContainEqual({ name: 'episode/webshop_task_score (not success_rate)', value: 1, count: 4 });
});

test('a model is shown the pages that it saw as an image, and buys by the published form of answers', async () => {
  const actions = ['search[table lamp]', 'click[next >]', 'click[back to search]', 'buy it'];
  let asked = 0;
  const model = await startOpenAiServer({
    reply: () => `<think>next</think><action>${actions[asked++ % actions.length]}</action>`,
  });
  const how = [
    '--policy',
    `openai:stand-in@${model.url}`,
    '--rollouts',
    '1',
    '--max-steps',
    '4',
    '--prompt',
    'image',
    '--concurrency',
    '1',
  ];
  expect(await collect(...how)).toContain('completed: 4 rollouts, 16 steps');
  const last = model.requests.at(-1)?.text ?? '';
  expect(last).toContain('data:image/png;base64,');
  expect(last).toContain('The image above shows the last 3');
  const drawn = await platform.database.db.selectFrom('historyImages').select('imageId').where('runId', '=', RUN).execute();
  expect(drawn).toHaveLength(12);
  await model.close();
});
