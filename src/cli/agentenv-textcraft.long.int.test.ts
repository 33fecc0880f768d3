import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { PYTHON_PACKAGE } from '../runtime/python-server.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { type OpenAiServer, startOpenAiServer } from '../testing/openai-server.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

const run = promisify(execFile);
const TORCH = '9'; // a torch takes a stick and coal, a stick a plank
const WAY = ['get plank', 'craft stick', 'get coal', 'craft torch'];

let platform: Platform & { readonly home: string };
let folder: string;
let model: OpenAiServer;
let env: Readonly<Record<string, string>>;

/** A Python in which a stand-in for AgentGym's package is installed: the same names, other code. */
beforeAll(async () => {
  platform = await openTestPlatform();
  folder = await mkdtemp(join(tmpdir(), 'espalier-agentenv-'));
  const write = 'import sys; from tests.test_agentenv_textcraft import write_package; write_package(sys.argv[1], copies=True)';
  await mkdir(join(folder, 'package'));
  await run('python3', ['-c', write, join(folder, 'package')], { cwd: PYTHON_PACKAGE });
  await run('python3', ['-m', 'venv', '--without-pip', join(folder, 'venv')]);
  const python = join(folder, 'venv/bin/python');
  const { stdout } = await run(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))']);
  await writeFile(join(stdout.trim(), 'agentenv_textcraft.pth'), `${resolve(folder, 'package')}\n`);
  model = await startOpenAiServer({ reply: ({ messages }, choice) => reply(messages, choice) });
  env = { ...environmentOf(platform), ESPALIER_WORLDS_PYTHON: python };
});
afterAll(async () => {
  await killRunning();
  await model?.close();
  await platform.close();
  await rm(folder, { recursive: true, force: true });
});

/** The first choice is the next action on the way, the others look at what is carried. */
function reply(messages: readonly { readonly role: string; readonly content: string }[], choice: number): string {
  const said = messages
    .filter(({ role, content }) => role === 'assistant' && content.includes('Action: '))
    .map(({ content }) => content);
  const next = WAY.find((action) => !said.some((text) => text.endsWith(`Action: ${action}`)));
  return `Thought: I try ${choice}.\nAction: ${choice === 0 ? next : 'inventory'}`;
}

async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(args, env);
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

describe("TextCraft by AgentGym's own classes, from the command line", () => {
  const how = ['--environment', 'agentenv-textcraft', '--task', TORCH];
  const policy = () => ['--policy', `openai:stand-in@${model.url}`];

  test('a model wins a task there, and what was executed comes out equal again', async () => {
    const id = '88888888-0000-4000-8000-000000000001';
    expect(await done('collect', ...how, ...policy(), '--rollouts', '2', '--max-steps', '6', '--run', id)).toContain(
      'completed: 2 rollouts, 8 steps, 2 succeeded',
    );
    expect(await done('replay', 'environment', '--run', id)).toContain('equal: environment');
  });

  test('a search copies its episodes, and its revisions are executed', async () => {
    const id = '88888888-0000-4000-8000-000000000002';
    const search = ['--search', 'mcts', '--iterations', '6', '--candidates', '2', '--max-depth', '5'];
    expect(await done('collect', ...how, ...policy(), ...search, '--run', id)).toMatch(/completed: .* [1-9]\d* succeeded/);
    expect(await done('replay', 'environment', '--run', id)).toContain('equal: environment');
    expect(await done('revise', '--run', id, '--judge', 'direct')).toContain('revised, completed: 1 of 1 trees');
  });

  test('a policy that chooses from a list acts by the commands of the opening', async () => {
    const rollouts = ['--policy', 'random', '--rollouts', '2', '--max-steps', '4'];
    expect(await done('collect', ...how, ...rollouts)).toContain('completed: 2 rollouts, 8 steps');
  });
});
