import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { EnvironmentError } from '../environment.ts';
import { parseEnvironment } from '../open-environment.ts';
import { rebuildEnvironment, withRestart } from '../with-restart.ts';
import { openServer } from './open-server.ts';
import { PROTOCOL } from './protocol.ts';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

interface Answer {
  readonly status?: number;
  readonly body: unknown;
}
type Asked = Readonly<Record<string, unknown>>;
type Routes = Record<string, (asked: Asked) => Answer | 'cut' | 'hang'>;

/** Serves a countdown: every episode shows a number, `down` lowers it, and 0 ends it with reward 1. `over` replaces answers. */
async function serve(over: Partial<Routes> = {}, description: object = {}) {
  const episodes = new Map<string, { left: number; n: number; last: object }>();
  const seen: string[] = [];
  const known = ({ episode }: Asked) => episodes.get(String(episode));
  const gone = { status: 404, body: { error: 'gone', message: 'no such episode' } };
  const routes: Routes = {
    '/': () => ({
      body: { protocol: PROTOCOL, name: 'countdown', fingerprint: '1', tasks: ['3', '5'], fork: true, ...description },
    }),
    '/create': () => {
      const episode = `e${episodes.size}`;
      episodes.set(episode, { left: 0, n: 0, last: {} });
      return { body: { episode } };
    },
    '/reset': (asked) => {
      const at = known(asked);
      if (!at) return gone;
      Object.assign(at, { left: Number(asked.task), n: 0 });
      return { body: { observation: String(at.left), actions: ['down'], state: String(at.left) } };
    },
    '/step': (asked) => {
      const at = known(asked);
      if (!at) return gone;
      if (asked.n === at.n - 1) return { body: at.last };
      if (asked.n !== at.n) return { status: 409, body: { error: 'invalid', message: `n must be ${at.n}` } };
      at.n++;
      if (asked.action === 'down') at.left--;
      const ended = at.left === 0;
      at.last = {
        observation: String(at.left),
        reward: ended ? 1 : 0,
        terminated: ended,
        success: ended,
        state: String(at.left),
      };
      return { body: at.last };
    },
    '/observe': (asked) => ({ body: { steps: known(asked)?.n } }),
    '/fork': (asked) => {
      const episode = `e${episodes.size}`;
      episodes.set(episode, { ...(known(asked) ?? { left: 0, n: 0, last: {} }) });
      return { body: { episode } };
    },
    '/close': (asked) => ({ body: { closed: episodes.delete(String(asked.episode)) } }),
    ...(over as Routes),
  };
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      seen.push(req.url ?? '');
      const asked = chunks.length > 0 ? (JSON.parse(Buffer.concat(chunks).toString()) as Asked) : {};
      const answer = routes[req.url ?? '']?.(asked) ?? { status: 404, body: { error: 'invalid' } };
      if (answer === 'hang') return;
      if (answer === 'cut') return res.destroy();
      res.writeHead(answer.status ?? 200, { 'content-type': 'application/json' });
      return res.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, forget: () => episodes.clear() };
}
const open = ({ url }: { readonly url: string }, timeoutMs = 5_000) => openServer({ url, timeoutMs, patienceMs: 0 });
const task = { alias: '3', seed: 0 };

describe('an environment on a server of the protocol', () => {
  test('an episode is reset, stepped to its end, and closed on the server', async () => {
    const server = await serve();
    const kind = await open(server);
    expect(kind).toMatchObject({
      name: 'countdown',
      taskAliases: ['3', '5'],
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const episode = await kind.create();
    expect(server.seen).toEqual(['/']); // nothing is created before it is needed
    expect(await episode.reset(task)).toMatchObject({ observation: '3', goal: '3', admissibleActions: ['down'] });
    await episode.step('wait');
    await episode.step('down');
    await episode.step('down');
    const end = await episode.step('down');
    expect(end).toMatchObject({ observation: '0', terminated: true, success: true, reward: { value: 1, raw: 1, kind: 'delta' } });
    await episode.close();
    expect(server.seen.at(-1)).toBe('/close');
    await kind.close();
  });

  test('what is possible is asked for where answers leave it out, for policies that choose from a list alone', async () => {
    let opened = 0;
    const over = {
      '/reset': () => ({ body: { observation: `${++opened}` } }),
      '/step': (asked: Asked) => ({ body: { observation: '2', terminated: asked.action === 'stop' } }),
      '/observe': () => ({ body: { steps: 1 } }),
      '/hints': () => ({ body: { actions: ['down', 'stop'] } }),
    };
    const server = await serve(over, { hints: true });
    const kind = await open(server);
    const episode = await (kind.withHints?.() ?? kind).create();
    expect((await episode.reset(task)).admissibleActions).toEqual(['down', 'stop']);
    expect((await episode.step('down')).admissibleActions).toEqual(['down', 'stop']);
    expect((await (await episode.clone?.())?.step('stop'))?.admissibleActions).toBeNull();
    const other = await kind.create();
    expect((await other.reset(task)).admissibleActions).toBeNull();
    expect(server.seen.filter((path) => path === '/hints')).toHaveLength(2);
    expect((await open(await serve(over))).withHints).toBeUndefined();
    await kind.close();
  });

  test('the kind of a task is what its reset says, else what the description says of it', async () => {
    const tasks = [{ task: '3', kind: 'short' }, '5'];
    const kind = await open(await serve({}, { tasks }));
    expect(kind.tasks).toEqual([
      { task: '3', depth: null, split: null, kind: 'short' },
      { task: '5', depth: null, split: null, kind: null },
    ]);
    const episode = await kind.create();
    expect((await episode.reset(task)).kind).toBe('short');
    expect((await episode.reset({ alias: '5', seed: 0 })).kind).toBeNull();
    const said = await open(await serve({ '/reset': () => ({ body: { observation: '3', kind: 'said' } }) }, { tasks }));
    expect((await (await said.create()).reset(task)).kind).toBe('said');
    await said.close();
    await kind.close();
  });

  test('a copied episode goes on by itself', async () => {
    const kind = await open(await serve());
    const first = await kind.create();
    await first.reset(task);
    await first.step('down');
    const second = await first.clone!();
    await first.step('down');
    expect((await second.step('wait')).observation).toBe('2');
    expect((await first.step('wait')).observation).toBe('1');
    await kind.close();
  });

  test('a step whose answer was lost is answered again and not executed again', async () => {
    let cut = true;
    const proxied = await serve({
      '/step': (asked) => {
        lost.push(asked);
        if (!cut) return { body: { observation: `n=${String(asked.n)}` } };
        cut = false;
        return 'cut';
      },
    });
    const lost: Asked[] = [];
    const kind = await openServer({ url: proxied.url, timeoutMs: 5_000, patienceMs: 5_000 });
    const episode = await kind.create();
    await episode.reset(task);
    expect((await episode.step('down')).observation).toBe('n=0');
    expect(lost.map(({ n }) => n)).toEqual([0, 0]);
    await kind.close();
  });

  test('an episode that the server forgot is played again, and goes on where it was', async () => {
    const server = await serve();
    const kind = withRestart(await open(server));
    const episode = await kind.create();
    await episode.reset(task);
    await episode.step('down');
    server.forget();
    expect((await episode.step('down')).observation).toBe('1');
    const copy = await episode.clone!();
    server.forget();
    expect((await copy.step('down')).observation).toBe('0');
    await kind.close();
  });

  test('a server that replays is sent the actions of a path at once, and one step by step where something differs', async () => {
    let shown = '2';
    const server = await serve(
      {
        '/replay': ({ actions }) => {
          const steps = (actions as string[]).map((_, i) => ({
            observation: i === 0 ? shown : '1',
            reward: i,
            terminated: i > 0,
          }));
          return { body: { episode: 'e0', opening: { observation: '3' }, steps } };
        },
      },
      { replay: true },
    );
    const kind = await open(server);
    await (await kind.create()).reset(task); // e0, at its beginning
    server.seen.length = 0;
    const steps = [
      { action: 'down', observation: '2' },
      { action: 'down', observation: '1' },
    ];
    const path = { task, firstObservation: '3', steps };
    expect(await rebuildEnvironment(kind, path)).toMatchObject({ kind: 'rebuilt', last: { observation: '1', terminated: true } });
    expect(server.seen).toEqual(['/replay']);
    shown = 'something else';
    expect(await rebuildEnvironment(kind, path)).toMatchObject({
      kind: 'rebuilt',
      last: { observation: '1', terminated: false },
    });
    expect(server.seen.slice(1)).toEqual(['/replay', '/reset', '/step', '/step']);
    await kind.close();
  });

  test('a server whose tasks share a random state is asked to start one at a time', async () => {
    let [running, most] = [0, 0];
    const server = await serve(
      {
        '/reset': () => {
          running--;
          return { body: { observation: 'begin' } };
        },
        '/create': () => {
          most = Math.max(most, ++running);
          return { body: { episode: 'e' } };
        },
      },
      { resets: 'alone' },
    );
    const kind = await open(server);
    await Promise.all([1, 2, 3].map(async () => (await kind.create()).reset(task)));
    expect(most).toBe(1);
    await kind.close();
  });
});

describe('a server that answers otherwise is named by route, field and remedy', () => {
  test.each<[string, Partial<Routes>, object, string]>([
    ['HTML', { '/': () => ({ body: '<html>It works!</html>' }) }, {}, 'GET http'],
    ['HTML', { '/': () => ({ body: '<html>It works!</html>' }) }, {}, 'without JSON: <html>It works!</html>'],
    ['another protocol', {}, { protocol: 'gym/2' }, 'protocol Invalid input: expected "espalier-environment/1"'],
    ['no tasks', {}, { tasks: [] }, 'tasks Too small'],
    ['a task twice', {}, { tasks: ['a', 'a'] }, 'tasks names a task twice'],
    ['a reward beyond its scale', { '/step': () => ({ body: { observation: '', reward: 30 } }) }, {}, 'reward.scale'],
    ['NaN', { '/step': () => ({ body: '{"observation":"","reward":NaN}' }) }, {}, 'POST /step answered HTTP 200 without JSON'],
    [
      'a component that it does not list',
      { '/step': () => ({ body: { observation: '', rewards: { tool: 1 } } }) },
      {},
      'rewards.tool',
    ],
    ['no observation', { '/step': () => ({ body: {} }) }, {}, 'POST /step: observation'],
    [
      'a copy that is none',
      { '/fork': () => ({ body: { episode: 'other' } }), '/observe': () => ({ body: { steps: 0 } }) },
      {},
      'the copy has taken 0 steps and its original 1',
    ],
    [
      'a copy that is the episode itself',
      { '/fork': ({ episode }) => ({ body: { episode } }) },
      {},
      'POST /fork: the copy is the episode itself; answer the id of a new one',
    ],
    ['10 MB', { '/step': () => ({ body: { observation: 'x'.repeat(10_000_000) } }) }, {}, 'POST /step: observation Too big'],
  ])('%s is refused by route and field (%#)', async (what, over, description, message) => {
    const server = await serve(over, description);
    const play = async () => {
      const kind = await open(server);
      const episode = await kind.create();
      await episode.reset(task);
      await episode.step('down').finally(() => undefined);
      await episode.clone!();
      await kind.close();
    };
    const failure: unknown = await play().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(EnvironmentError);
    expect(failure).toMatchObject({
      code: what === 'HTML' ? 'backend' : /^a (copy|reward|component)/.test(what) ? 'claim' : 'protocol',
      message: expect.stringContaining(message),
    });
  });

  test('a server that hangs is unreachable after the limit', async () => {
    const kind = await open(await serve({ '/reset': () => 'hang' }), 100);
    const episode = await kind.create();
    await expect(episode.reset(task)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('/reset has not answered within 100 ms'),
    });
    await kind.close();
  });

  test.each([500, 502, 503, 504])(
    'a server that says by HTTP %d that what it asks is away is not asked again',
    async (status) => {
      let asked = 0;
      const away = { status, body: { error: 'backend', message: 'the database is away' } };
      const server = await serve({
        '/step': () => {
          asked++;
          return away;
        },
      });
      const kind = await open(server);
      const episode = await kind.create();
      await episode.reset(task);
      await expect(episode.step('down')).rejects.toMatchObject({
        name: 'EnvironmentError',
        code: 'backend',
        message: expect.stringContaining('the database is away'),
      });
      expect(asked).toBe(1);
      await kind.close();
    },
  );

  test('a server that opens another task after a restart ends the episode with both openings', async () => {
    let openings = 0;
    const server = await serve({ '/reset': () => ({ body: { observation: `opening ${openings++}` } }) });
    const kind = withRestart(await open(server));
    const episode = await kind.create();
    await episode.reset(task);
    server.forget();
    await expect(episode.step('down')).rejects.toThrow('task 3 opens otherwise than before: "opening 0" became');
    await kind.close();
  });
});

test('the address of a server takes a limit of time, and holds no secret', () => {
  expect(parseEnvironment('server:http://h:1/world;timeout=9')).toEqual({
    environment: 'server',
    url: 'http://h:1/world',
    timeout: 9,
  });
  expect(() => parseEnvironment('server:h:1')).toThrow('is no http URL; write server:URL[;timeout=SECONDS]');
  expect(() => parseEnvironment('server:http://a:b@h')).toThrow('holds');
});
