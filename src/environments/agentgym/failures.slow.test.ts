import { afterEach, describe, expect, test } from '@jest/globals';
import { type AgentGymServer, type Fault, type GymWorld, startAgentGymServer } from '../../testing/agentgym-server.ts';
import { sciworldWorld, textcraftWorld, webshopWorld } from '../../testing/agentgym-server-worlds.ts';
import { until } from '../../testing/until.ts';
import type { Environment, EnvironmentKind } from '../environment.ts';
import { openTextCraft } from '../textcraft/textcraft.ts';
import { withRestart } from '../with-restart.ts';
import type { ServerName } from './descriptors.ts';
import { type AgentGymOptions, openAgentGym } from './open-agentgym.ts';

const local = await openTextCraft();
const WORLDS = { textcraft: () => textcraftWorld(local), sciworld: sciworldWorld, webshop: webshopWorld };

let server: AgentGymServer;
let kind: EnvironmentKind;
let environment: Environment;
afterEach(async () => {
  await environment.close();
  await kind.close();
  await server.close();
});

async function given(name: keyof typeof WORLDS, options: Partial<AgentGymOptions> = {}): Promise<void> {
  server = await startAgentGymServer(WORLDS[name]);
  kind = await open(name, options);
  environment = await kind.create();
}

function open(name: ServerName, options: Partial<AgentGymOptions> = {}): Promise<EnvironmentKind> {
  return openAgentGym({
    server: name,
    url: server.url,
    tasks: ['0', '1', '2', '70'],
    timeoutMs: 2_000,
    patienceMs: 0,
    ...options,
  });
}

const start = (alias = '0') => environment.reset({ alias, seed: 0 });
const count = (path: string) => server.requests.filter(({ route }) => route === path).length;
const sent = (path: string) => server.requests.filter(({ route }) => route === path).map(({ body }) => body);

describe('unknown tasks', () => {
  test('a task outside the plan is refused without a request', async () => {
    await given('sciworld');
    const before = server.requests.length;
    for (const alias of ['3', '-1', '00', 'boil']) {
      await expect(start(alias)).rejects.toMatchObject({ code: 'unknown-task', retryable: false });
    }
    expect(server.requests).toHaveLength(before);
  });

  test.each(['sciworld', 'webshop'] as const)('an unknown task is reported in the words of %s', async (name) => {
    await given(name);
    await expect(start('70')).rejects.toMatchObject({ code: name === 'webshop' ? 'failed' : 'unknown-task', retryable: false });
    expect((await start('1')).goal).toMatch(/melt|blue/);
  });
});

describe('malformed answers', () => {
  test.each<[string, string, Fault, string]>([
    [
      'malformed JSON',
      '/step',
      { kind: 'body', body: '{"observation": "a' },
      'POST /step did not answer JSON but {"observation": "a',
    ],
    ['an empty body', '/step', { kind: 'body', body: '' }, 'POST /step did not answer JSON but nothing'],
    [
      'a missing field',
      '/step',
      { kind: 'body', body: '{"observation": "a", "done": false}' },
      '/step answered another shape (reward:',
    ],
    ['NaN', '/step', { kind: 'body', body: '{"observation": "a", "reward": NaN, "done": false}' }, 'did not answer JSON'],
    ['a refused body', '/step', { kind: 'status', status: 422, body: '{"detail":[]}' }, 'POST /step answered HTTP 422'],
    ['an opening of another shape', '/reset', { kind: 'body', body: '["a", null]' }, '/reset answered another shape'],
    ['an unforeseen error text', '/reset', { kind: 'body', body: '{"error": "disk full"}' }, 'cannot start task 0: disk full'],
  ])('a server that answers with %s is a clear error', async (_what, path, fault, message) => {
    await given('textcraft');
    if (path === '/step') await start();
    server.fail(path, fault);
    const failing = path === '/step' ? environment.step('inventory') : start();
    await expect(failing).rejects.toMatchObject({
      code: 'protocol',
      retryable: false,
      message: expect.stringContaining(message),
    });
  });

  test.each<[string, Fault]>([
    ['HTTP 404', { kind: 'status', status: 404, body: '{"detail":"Not Found"}' }],
    ['HTTP 401', { kind: 'status', status: 401, body: '{"detail":"the key has expired"}' }],
    ['<html>', { kind: 'body', body: '<html>Log in</html>' }],
  ])('where somebody else answers by %s, the episode cannot go on now, and nothing is said of its task', async (what, fault) => {
    await given('textcraft');
    await start();
    server.fail('/step', fault);
    await expect(environment.step('inventory')).rejects.toMatchObject({
      code: 'backend',
      message: expect.stringContaining(what),
    });
  });

  test('a malformed answer to a create is a clear error too', async () => {
    await given('textcraft');
    server.fail('/create', { kind: 'body', body: '{"error": "out of memory"}' }, { kind: 'body', body: '7' });
    await expect(kind.create()).rejects.toThrow('TextCraft cannot create an environment: out of memory');
    await expect(kind.create()).rejects.toThrow('/create answered another shape');
  });
});

describe('steps on which the server fails', () => {
  test('a failed step is an observation while the environment exists, for both families', async () => {
    await given('webshop');
    await start();
    const crashed = await environment.step('click[crash]');
    expect(crashed).toMatchObject({
      observation: 'The environment failed over this action: HTTP 500, Internal Server Error',
      executable: false,
      terminated: false,
      success: null,
      reward: { value: 0, raw: 0 },
    });
    expect((await environment.step('search[cup]')).executable).toBe(true);
  });

  test('an error with HTTP 200 is an observation that keeps what was earned', async () => {
    await given('sciworld');
    await start();
    await environment.step('focus on water');
    server.fail('/step', { kind: 'body', body: '{"error": "Py4JError"}' });
    expect(await environment.step('mix water')).toMatchObject({
      observation: 'The environment failed over this action: Py4JError',
      executable: false,
      reward: { value: 0.5, raw: 50, gain: 0 },
    });
  });

  test('a third failure in a row is an error', async () => {
    await given('webshop');
    await start();
    for (const _ of [1, 2]) expect((await environment.step('click[crash]')).executable).toBe(false);
    await expect(environment.step('click[crash]')).rejects.toMatchObject({
      code: 'backend',
      message: expect.stringContaining('fails over every action'),
    });
  });

  test('a failure after the end is an error, not an observation', async () => {
    await given('sciworld');
    await start();
    await environment.step('focus on agent');
    await expect(environment.step('look around')).rejects.toMatchObject({
      code: 'protocol',
      message: expect.stringContaining('has finished'),
    });
  });
});

describe('unresponsive servers', () => {
  test('a step without an answer in time ends with a recoverable error and is not sent again', async () => {
    await given('textcraft', { timeoutMs: 800 });
    await start();
    server.fail('/step', { kind: 'silent', acts: false });
    await expect(environment.step('inventory')).rejects.toMatchObject({
      code: 'unreachable',
      retryable: true,
      message: expect.stringContaining('/step has not answered within 800 ms'),
    });
    expect(count('/step')).toBe(1);
    await expect(environment.step('inventory')).rejects.toMatchObject({ code: 'gone', retryable: true });
    expect(count('/step')).toBe(1);
  });

  test.each(['before-headers', 'within-body'] as const)(
    'a step cut off %s may have been executed and is never repeated',
    async (when) => {
      await given('textcraft', { patienceMs: 5_000 });
      await start();
      server.fail('/step', { kind: 'cut', when, acts: true });
      await expect(environment.step('inventory')).rejects.toMatchObject({
        code: 'gone',
        retryable: true,
        message: expect.stringContaining('whether it was executed is unknown'),
      });
      expect(count('/step')).toBe(1);
    },
  );

  test('a reset that was cut off is sent again, since it discards the earlier state', async () => {
    await given('textcraft', { patienceMs: 5_000 });
    const before = count('/reset');
    server.fail('/reset', { kind: 'cut', when: 'before-headers', acts: true }, { kind: 'cut', when: 'within-body', acts: true });
    expect((await start()).goal).toMatch(/^craft /);
    expect(count('/reset')).toBe(before + 3);
  });

  test.each([408, 425, 429])(
    'a step deferred with HTTP %i is sent again, but not before the time that the server asks for',
    async (status) => {
      await given('textcraft', { patienceMs: 5_000 });
      await start();
      server.fail('/step', { kind: 'status', status });
      expect((await environment.step('inventory')).executable).toBe(true);
      expect(count('/step')).toBe(2);
      server.fail('/step', { kind: 'status', status, headers: { 'retry-after': '60' } });
      await expect(environment.step('inventory')).rejects.toMatchObject({ code: 'unreachable', retryable: true });
      expect(count('/step')).toBe(3);
    },
  );

  test.each([502, 504])('a step answered by a proxy with HTTP %i is not an observation: the episode is lost', async (status) => {
    await given('textcraft', { patienceMs: 5_000 });
    await start();
    server.fail('/step', { kind: 'status', status, body: 'Bad Gateway' });
    await expect(environment.step('inventory')).rejects.toMatchObject({
      code: 'gone',
      retryable: true,
      message: expect.stringContaining('whether it was executed is unknown'),
    });
    expect(count('/step')).toBe(1);
  });

  test('a step deferred with 503 is sent again up to the limit', async () => {
    await given('textcraft', { patienceMs: 5_000 });
    await start();
    server.fail('/step', { kind: 'status', status: 503, body: 'busy' });
    expect((await environment.step('inventory')).executable).toBe(true);
    expect(count('/step')).toBe(2);
  });

  test('every call after the close reports it, and a second close does not throw', async () => {
    await given('textcraft');
    await start();
    await server.close();
    await expect(environment.step('inventory')).rejects.toMatchObject({ code: 'unreachable', retryable: true });
    await expect(kind.create()).rejects.toMatchObject({ code: 'unreachable' });
    await environment.close();
    await kind.close();
    server = await startAgentGymServer(WORLDS.textcraft); // for afterEach
  });
});

describe('restarted servers', () => {
  test.each(['textcraft', 'sciworld', 'webshop'] as const)('a restarted %s server has lost the episode', async (name) => {
    await given(name);
    await start();
    server.restart();
    await expect(environment.step('inventory')).rejects.toMatchObject({ code: 'gone', retryable: true });
    expect(await start('1')).toBeDefined(); // a reset begins again, so that it recovers
    expect((await environment.step('inventory')).observation).not.toBe('');
  });

  test('a restarted server may assign our id to another environment, in which ours never acts', async () => {
    await given('sciworld');
    await start();
    await environment.step('focus on water');
    server.restart();
    const other = await kind.create(); // numbered from 0 again
    await other.reset({ alias: '2', seed: 0 });
    await expect(environment.step('activate stove')).rejects.toMatchObject({ code: 'gone', retryable: true });
    expect((await other.step('look around')).reward.value).toBe(0);
    await other.close();
  });
});

/** The actions that each environment was sent, in the order of creation; the tests that ask play in one at a time. */
function livesOf({ requests }: AgentGymServer): unknown[][] {
  const lives: unknown[][] = [];
  for (const { route, body } of requests) {
    if (route === '/create') lives.push([]);
    if (route === '/step') lives.at(-1)?.push(Object(body).action);
  }
  return lives;
}

describe('surviving environments', () => {
  async function givenSurviving(name: keyof typeof WORLDS, options: Partial<AgentGymOptions> = {}): Promise<void> {
    server = await startAgentGymServer(WORLDS[name]);
    kind = withRestart(await open(name, options));
    environment = await kind.create();
  }

  test.each<[string, () => void]>([
    ['a restart', () => server.restart()],
    ['a step that was executed but cut off', () => server.fail('/step', { kind: 'cut', when: 'within-body', acts: true })],
    ['a step that was executed but not answered in time', () => server.fail('/step', { kind: 'silent', acts: true })],
  ])('an episode continues after %s, and no environment executes a step twice', async (_what, harm) => {
    await givenSurviving('sciworld', { timeoutMs: 1_000 });
    await start();
    await environment.step('focus on water');
    harm();
    const step = await environment.step('activate stove');
    expect(step).toMatchObject({
      observation: 'You activate stove.',
      terminated: true,
      success: true,
      reward: { value: 1, gain: 0.5 },
    });
    for (const life of livesOf(server)) expect(new Set(life).size).toBe(life.length);
    expect(livesOf(server).at(-1)).toEqual(['focus on water', 'activate stove']);
  });

  test('recovery ends after its attempts', async () => {
    await givenSurviving('textcraft', { timeoutMs: 500 });
    await start();
    const silent: Fault = { kind: 'silent', acts: false };
    server.fail('/step', silent, silent, silent, silent);
    await expect(environment.step('inventory')).rejects.toMatchObject({ code: 'unreachable' });
    expect(count('/step')).toBe(3);
  });

  test('recovery refuses another world, in which the task opens differently after the restart', async () => {
    let seed = 0;
    server = await startAgentGymServer((): GymWorld => textcraftWorld(local, seed++));
    kind = withRestart(await open('textcraft'));
    environment = await kind.create();
    await start('2');
    server.restart();
    await expect(environment.step('inventory')).rejects.toMatchObject({
      code: 'gone',
      retryable: false,
      message: expect.stringContaining('task 2 opens otherwise than before'),
    });
  });

  test('a caller’s mistake is not retried', async () => {
    await givenSurviving('sciworld');
    await expect(start('99')).rejects.toMatchObject({ code: 'unknown-task' });
    await expect(environment.step('look around')).rejects.toMatchObject({ code: 'gone', retryable: false });
  });
});

describe('the pool of environments on a server', () => {
  test('environments are reused and all closed at the end', async () => {
    await given('sciworld');
    const others = [await kind.create(), await kind.create()];
    for (const one of others) await one.close();
    const again = await kind.create();
    await again.close();
    expect(count('/create')).toBe(3);
    expect(count('/close')).toBe(0);
    await environment.close();
    await kind.close();
    expect(
      sent('/close')
        .map((body) => JSON.stringify(body))
        .sort(),
    ).toEqual(['{"id":0}', '{"id":1}', '{"id":2}']);
    await expect(kind.create()).rejects.toMatchObject({ code: 'gone', retryable: false });
  });

  test('the pool never exceeds its limit, and a request beyond it waits until one is returned', async () => {
    await given('sciworld', { limit: 2 });
    const second = await kind.create();
    const order: string[] = [];
    const waiting = ['third', 'fourth'].map(async (name) => {
      const one = await kind.create();
      order.push(name);
      return one;
    });
    expect(count('/create')).toBe(2);
    await second.close();
    await (await waiting[0])?.close();
    await (await waiting[1])?.close();
    expect(order).toEqual(['third', 'fourth']);
    expect(count('/create')).toBe(2);
  });

  test('a broken environment frees its place', async () => {
    await given('sciworld', { limit: 1, timeoutMs: 800 });
    await start();
    const waiting = kind.create();
    server.fail('/step', { kind: 'silent', acts: false });
    await expect(environment.step('look around')).rejects.toMatchObject({ code: 'unreachable' });
    await environment.close();
    await (await waiting).close();
    expect([count('/create'), count('/close')]).toEqual([2, 1]);
  });

  test('a wait without progress ends with an error, as do waits at the end of the run', async () => {
    await given('sciworld', { limit: 1, idleLimitMs: 60 });
    await expect(kind.create()).rejects.toMatchObject({
      code: 'unreachable',
      retryable: true,
      message: expect.stringContaining('all 1 environments'),
    });
    const waiting = kind.create();
    const refused = expect(waiting).rejects.toMatchObject({ code: 'gone', message: 'the environment was closed' });
    await kind.close();
    await refused;
  });

  test('environments on a server without /close are left open', async () => {
    await given('webshop');
    await start();
    await environment.close();
    await kind.close();
    expect(count('/close')).toBe(0);
  });

  test('a server that hangs on close delays the end only up to the limit', async () => {
    await given('sciworld', { timeoutMs: 800 });
    server.fail('/close', { kind: 'silent', acts: true });
    await kind.close();
    await until(() => count('/close') === 1);
  });
});
