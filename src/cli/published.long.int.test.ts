import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { startOpenAiServer } from '../testing/openai-server.ts';
import { worldsForTests } from '../testing/python.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

const worlds = await worldsForTests();
const withWorlds = worlds.kind === 'found' ? describe : describe.skip;

let platform: Platform & { readonly home: string };
const servers: ChildProcess[] = [];
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(async () => {
  for (const server of servers) server.stdin?.end();
  await killRunning();
  await platform.close();
});

const python = worlds.kind === 'found' ? worlds.python : 'python3';
const espalier = (...args: readonly string[]) =>
  runEspalier(args, { ...environmentOf(platform), ESPALIER_WORLDS_PYTHON: python });

/** Runs a command to its success and returns what it printed. */
async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await espalier(...args);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

let runs = 0;
/** Collects, and executes everything again. */
async function collectAndReplay(environment: string, ...how: readonly string[]): Promise<string> {
  const run = `77777777-0000-4000-8000-00000000000${runs++}`;
  const said = await done('collect', '--environment', environment, '--run', run, ...how);
  expect(await done('replay', 'environment', '--run', run)).toContain('equal: environment');
  return said;
}

/** Starts a server that speaks AgentGym's protocol; it ends with this process. */
function serveAgentGym(name: string, ...options: readonly string[]): Promise<string> {
  const command = ['-m', 'espalier_rl', 'serve-published', name, ...options, '--agentgym', '--port', '0', '--end-with-stdin'];
  const server = spawn(python, command, { env: { ...process.env, PYTHONPATH: 'python' }, stdio: ['pipe', 'ignore', 'pipe'] });
  servers.push(server);
  return new Promise((resolve, reject) => {
    const said: string[] = [];
    createInterface({ input: server.stderr }).on('line', (line) => {
      said.push(line);
      const [, url] = /^listening on (\S+)$/.exec(line) ?? [];
      if (url !== undefined) resolve(url);
    });
    server.once('close', () => reject(new Error(said.join('\n'))));
  });
}

withWorlds('ScienceWorld, in the simulator of its package', () => {
  const environment = 'scienceworld:kinds=find-plant';

  test('rollouts are collected from it, and everything that was executed comes out equal again', async () => {
    const said = await collectAndReplay(environment, '--policy', 'random', '--tasks', '1', '--rollouts', '2', '--max-steps', '3');
    expect(said).toContain('completed: 2 rollouts');
  }, 300_000);

  test('a search copies its episodes, and everything that was executed comes out equal again', async () => {
    const how = ['--search', 'mcts', '--policy', 'random', '--iterations', '2', '--candidates', '2', '--max-depth', '3'];
    await collectAndReplay(environment, ...how, '--tasks', '1');
  }, 300_000);

  test('a client of AgentGym collects from it unchanged', async () => {
    const url = await serveAgentGym('scienceworld', 'hints=none');
    const model = await startOpenAiServer({ reply: () => 'Thought: where am I?\nAction: look around' });
    const how = ['--policy', `openai:stand-in@${model.url}`, '--tasks', '1', '--rollouts', '1', '--max-steps', '2'];
    expect(await collectAndReplay(`agentgym:sciworld@${url}#30`, ...how)).toContain('completed: 1 rollouts, 2 steps');
    await model.close();
  }, 300_000);

  test.each<[string, readonly string[], string]>([
    ['an unknown kind of experiment', ['--environment', 'scienceworld:kinds=cook'], "ScienceWorld has no experiment 'cook'"],
    ['an unknown simplification', ['--environment', 'scienceworld:simplifications=cheat'], "no simplification 'cheat'"],
    ['an unknown task', ['--environment', environment, '--task', 'find-plant/300'], 'find-plant/300'],
    ['more tasks than there are', ['--environment', environment, '--tasks', '999999'], '300'],
  ])(
    '%s is refused by name',
    async (_what, args, message) => {
      const { code, stderr } = await espalier('collect', '--policy', 'random', ...args);
      expect(code).toBe(1);
      expect(stderr).toContain(message);
    },
    120_000,
  );
});

withWorlds('BabyAI, in the grids of minigrid', () => {
  const environment = 'babyai:levels=GoToDoor,OpenDoorLoc;seeds=2';

  test('rollouts are collected from it, and everything that was executed comes out equal again', async () => {
    const how = ['--policy', 'random', '--tasks', '4', '--rollouts', '2', '--max-steps', '10'];
    expect(await collectAndReplay(environment, ...how)).toContain('completed: 8 rollouts');
  }, 300_000);

  test('a search copies its episodes, and everything that was executed comes out equal again', async () => {
    const how = ['--search', 'mcts', '--policy', 'random', '--iterations', '4', '--candidates', '3', '--max-depth', '6'];
    await collectAndReplay(environment, ...how, '--tasks', '2');
  }, 300_000);

  test('a client of AgentGym collects from it unchanged', async () => {
    const url = await serveAgentGym('babyai');
    const how = ['--policy', 'random', '--tasks', '2', '--rollouts', '1', '--max-steps', '4'];
    expect(await collectAndReplay(`agentgym:babyai@${url}#9,53`, ...how)).toContain('completed: 2 rollouts');
  }, 300_000);

  test('an unknown level is refused by name', async () => {
    const { code, stderr } = await espalier('collect', '--policy', 'random', '--environment', 'babyai:levels=Fly');
    expect(code).toBe(1);
    expect(stderr).toContain("BabyAI has no level 'Fly'");
  }, 120_000);
});
