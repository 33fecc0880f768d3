import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { startOpenAiServer } from '../testing/openai-server.ts';
import { worldsForTests } from '../testing/python.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

const worlds = await worldsForTests();
const withWorlds = worlds.kind === 'found' ? describe : describe.skip;

let platform: Platform & { readonly home: string };
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

const python = worlds.kind === 'found' ? worlds.python : 'python3';
const espalier = (...args: readonly string[]) =>
  runInProcess(args, { ...environmentOf(platform), ESPALIER_WORLDS_PYTHON: python });

/** Runs a command to its success and returns what it printed. */
async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await espalier(...args);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

let runs = 0;
const runId = (number: number) => `77777777-0000-4000-8000-${String(number).padStart(12, '0')}`;
const lastRun = () => runId(runs);
/** Collects, and executes everything again. */
async function collectAndReplay(environment: string, ...how: readonly string[]): Promise<string> {
  runs++;
  const run = lastRun();
  const said = await done('collect', '--environment', environment, '--run', run, ...how);
  expect(await done('replay', 'environment', '--run', run)).toContain('equal: environment');
  return said;
}

withWorlds('ScienceWorld, in the simulator of its package', () => {
  const environment = 'scienceworld:kinds=find-plant';

  test('rollouts are collected from it, and everything that was executed comes out equal again', async () => {
    const said = await collectAndReplay(environment, '--policy', 'random', '--tasks', '1', '--rollouts', '2', '--max-steps', '3');
    expect(said).toContain('completed: 2 rollouts');
  });

  test('a search copies its episodes, and everything that was executed comes out equal again', async () => {
    const how = ['--search', 'mcts', '--policy', 'random', '--iterations', '2', '--candidates', '2', '--max-depth', '3'];
    await collectAndReplay(environment, ...how, '--tasks', '1');
  });

  test('a policy that chooses from a list is given one where answers hold none', async () => {
    const how = ['--policy', 'random', '--tasks', '1', '--rollouts', '1', '--max-steps', '3'];
    expect(await collectAndReplay(`${environment};hints=none`, ...how)).toMatch(/completed: 1 rollouts, [1-3] steps/); // some acts are fatal
  });

  test.each<[string, readonly string[], string]>([
    ['an unknown kind of experiment', ['--environment', 'scienceworld:kinds=cook'], "ScienceWorld has no experiment 'cook'"],
    ['an unknown simplification', ['--environment', 'scienceworld:simplifications=cheat'], "no simplification 'cheat'"],
    ['an unknown task', ['--environment', environment, '--task', 'find-plant/300'], 'find-plant/300'],
    ['more tasks than there are', ['--environment', environment, '--tasks', '999999'], '300'],
  ])('%s is refused by name', async (_what, args, message) => {
    const { code, stderr } = await espalier('collect', '--policy', 'random', ...args);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});

withWorlds('ALFWorld, in games that are made from what its packages hold', () => {
  const unseen = 'alfworld:games=1;splits=valid_unseen';
  const search = ['--search', 'mcts', '--policy', 'random', '--iterations', '3', '--candidates', '2', '--max-depth', '4'];
  const kinds = [
    'look_at_obj_in_light',
    'pick_and_place_simple',
    'pick_clean_then_place_in_recep',
    'pick_cool_then_place_in_recep',
    'pick_heat_then_place_in_recep',
    'pick_two_obj_and_place',
  ];

  test('the planner wins a game of each kind, what was executed comes out equal again, and success is shown by kind', async () => {
    const said = await collectAndReplay(unseen, '--policy', 'planner', '--rollouts', '1');
    expect(said).toMatch(/completed: 6 rollouts, .* 6 succeeded/);
    const metrics = JSON.parse(await done('--json', 'published-metrics', lastRun())) as { name: string; value: number }[];
    const rates = metrics.filter(({ name }) => name.endsWith('success_rate')).map(({ name, value }) => [name, value]);
    const named = kinds.map((kind) => [`episode/${kind.replace('_simple', '')}_success_rate`, 1]);
    expect(rates.sort()).toEqual([...named, ['episode/success_rate', 1]].sort());
  }, 600_000);

  test('a search copies its episodes, and everything that was executed comes out equal again', async () => {
    const said = await collectAndReplay('alfworld:games=1;splits=train;kinds=pick_and_place_simple', ...search);
    expect(said).toContain('completed: ');
  }, 600_000);

  test('a model is shown the history as an image', async () => {
    const model = await startOpenAiServer({ reply: () => '<think>where am I?</think><action>look</action>' });
    const how = ['--policy', `openai:stand-in@${model.url}`, '--prompt', 'image', '--profile', 'agentocr-alfworld'];
    await collectAndReplay(unseen, ...how, '--tasks', '1', '--rollouts', '1', '--max-steps', '3');
    const metrics = JSON.parse(await done('--json', 'published-metrics', lastRun())) as { name: string; value: number }[];
    expect(metrics.find(({ name }) => name === 'memory_visual_token_count')?.value).toBeGreaterThan(0);
    await model.close();
  }, 600_000);

  test('games in a folder are won in the environment of the package itself, and collected from', async () => {
    const folder = `${platform.home}/games`;
    const run = (args: readonly string[]) =>
      promisify(execFile)(python, args, { env: { ...process.env, PYTHONPATH: 'python' }, timeout: 500_000 });
    const two = ['look_at_obj_in_light', 'pick_heat_then_place_in_recep'];
    const { stdout } = await run(['-m', 'espalier_rl', 'write-games', 'alfworld', folder, 'games=1', `kinds=${two}`]);
    expect(stdout).toBe(`6 games of ALFWorld in ${folder}/json_2.1.1\n`);
    const played = await run(['python/tests/play_alfworld.py', folder]);
    expect(JSON.parse(played.stdout)).toEqual({
      games: { train: 2, valid_seen: 2, valid_unseen: 2 },
      won: Object.fromEntries(two.map((kind) => [kind, true])),
    });
    const how = ['--policy', 'planner', '--tasks', '2', '--rollouts', '1'];
    expect(await collectAndReplay(`alfworld:folder=${folder};splits=valid_seen`, ...how)).toMatch(/2 rollouts, .* 2 succeeded/);
  }, 600_000);

  test.each<[string, string, string]>([
    ['an unknown kind of task', 'alfworld:kinds=pick', "ALFWorld has no kind of task 'pick'"],
    ['a folder without games', 'alfworld:folder=python/tests', 'python/tests holds no games'],
  ])('%s is refused by name', async (_what, environment, message) => {
    const { code, stderr } = await espalier('collect', '--policy', 'random', '--environment', environment);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });
});
