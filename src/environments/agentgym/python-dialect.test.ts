import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../runtime/config.ts';
import { type PythonServer, startPythonServer } from '../../runtime/python-server.ts';
import type { EnvironmentKind } from '../environment.ts';
import { openAgentGym } from './open-agentgym.ts';

// A class of the user's behind AgentGym's protocol, as `serve-published --agentgym` serves those of packages.
const SERVER = `
import sys
from espalier_rl.environment import Environment, Opening, Step
from espalier_rl.environments.agentgym import Dialect, make_agentgym_server

class Words(Dialect):
    liveness = "This is environment TextCraft."
    starts_created = True

    @staticmethod
    def alias(number):
        return str(number % 9)

    @staticmethod
    def opened(world, opening):
        return {"observation": opening.observation, "reward": 0}

    @staticmethod
    def stepped(world, step):
        return {"observation": step.observation, "reward": step.reward, "done": step.terminated}

class Down(Environment):
    tasks = [str(number) for number in range(9)]
    dialect = Words

    def reset(self, task, seed):
        self.left = int(task)
        return Opening(f"Goal: {task}.")

    def step(self, action):
        if action == "fail":
            raise RuntimeError("it broke")
        self.left -= action == "down"
        return Step(str(self.left), reward=float(self.left == 0), terminated=self.left == 0)

server = make_agentgym_server(Down)
print(f"listening on http://127.0.0.1:{server.server_address[1]}", file=sys.stderr, flush=True)
server.serve_forever()
`;
const START_MS = 60_000;

let server: PythonServer;
let kind: EnvironmentKind;
beforeAll(async () => {
  server = await startPythonServer(readConfig().python ?? 'python3', ['-c', SERVER], START_MS);
  kind = await openAgentGym({ server: 'textcraft', url: server.url, tasks: ['2', '3'] });
}, START_MS);
afterAll(async () => {
  await kind.close();
  await server.close();
});

describe("a Python class behind AgentGym's protocol", () => {
  test('its beginning is played in one request, up to its end, and goes on in copies', async () => {
    const environment = await kind.create();
    const task = { alias: '3', seed: 0 };
    const ended = await environment.replay?.(task, ['down', 'down', 'down', 'down']);
    expect(ended?.opening.observation).toBe('Goal: 3.');
    expect(ended?.steps.map(({ observation, terminated }) => [observation, terminated])).toEqual([
      ['2', false],
      ['1', false],
      ['0', true],
    ]);
    await environment.replay?.(task, ['down']);
    const copy = await environment.clone?.();
    expect((await copy?.step('down'))?.observation).toBe('1');
    expect((await environment.step('wait')).observation).toBe('2');
    await copy?.close();
    await environment.close();
  });

  test('an action over which it fails is an observation, as where each is a request', async () => {
    const environment = await kind.create();
    const replayed = await environment.replay?.({ alias: '2', seed: 0 }, ['fail', 'down']);
    expect(replayed?.steps.map(({ observation, executable }) => [observation, executable])).toEqual([
      ['The environment failed over this action: it broke', false],
      ['1', true],
    ]);
    await environment.close();
  });
});
