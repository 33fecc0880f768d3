import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PROTOCOL } from '../environments/server/protocol.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });
let env: Readonly<Record<string, string>>;
let server: Server;
/** What the server does in place of an answer, by route; nothing while it is well. */
let fault: { readonly path: string; readonly answer: (asked: Asked) => string | null | undefined } | null;
let url = '';
let episodes: Map<string, { left: number; n: number }>;

type Asked = Readonly<Record<string, unknown>>;
const json = (value: unknown) => JSON.stringify(value);

/** Serves a countdown from three: a task is over when it is at 0. */
beforeEach(async () => {
  env = environmentOf(platform);
  fault = null;
  episodes = new Map();
  const answers: Record<string, (asked: Asked) => unknown> = {
    '/': () => ({ protocol: PROTOCOL, name: 'countdown', fingerprint: '1', tasks: ['2', '3', '4'], fork: true }),
    '/create': () => {
      episodes.set(`e${episodes.size}`, { left: 0, n: 0 });
      return { episode: `e${episodes.size - 1}` };
    },
    '/reset': ({ episode, task }) => {
      episodes.set(String(episode), { left: Number(task), n: 0 });
      return { observation: `From ${task}.`, actions: ['down', 'wait'] };
    },
    '/step': ({ episode, action }) => {
      const at = episodes.get(String(episode)) ?? { left: 0, n: 0 };
      at.n++;
      if (action === 'down') at.left--;
      const over = at.left === 0;
      return { observation: `${at.left}`, reward: over ? 1 : 0, terminated: over, success: over, actions: ['down', 'wait'] };
    },
    '/observe': ({ episode }) => ({ steps: episodes.get(String(episode))?.n }),
    '/fork': ({ episode }) => {
      const copy = `e${episodes.size}`;
      episodes.set(copy, { ...(episodes.get(String(episode)) ?? { left: 0, n: 0 }) });
      return { episode: copy };
    },
    '/close': () => ({}),
  };
  server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const asked = chunks.length > 0 ? (JSON.parse(Buffer.concat(chunks).toString()) as Asked) : {};
      const path = req.url ?? '';
      const wrong = fault?.path === path ? fault.answer(asked) : undefined;
      if (wrong === null) return; // it hangs
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(wrong ?? json(answers[path]?.(asked) ?? {}));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await killRunning();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const RUN = 'aaaaaaaa-0000-4000-8000-000000000001';
const espalier = (...args: readonly string[]) => runInProcess(args, env);
const collect = (...more: readonly string[]) =>
  espalier(
    ...['collect', '--environment', `server:${url};timeout=1`, '--policy', 'random', '--tasks', '3', '--run', RUN],
    ...['--concurrency', '1', ...more],
  );

describe('a server that goes wrong in the middle of a run', () => {
  test.each<[string, string, () => string | null, string]>([
    ['hangs', '/step', () => null, '/step has not answered within 1000 ms'],
    ['answers HTML', '/step', () => '<html>502</html>', 'POST /step answered HTTP 200 without JSON: <html>502</html>'],
    ['answers 10 MB', '/step', () => json({ observation: 'x'.repeat(10_000_000) }), 'POST /step: observation Too big'],
    ['answers NaN', '/step', () => '{"observation":"","reward":NaN}', 'POST /step answered HTTP 200 without JSON'],
    ['pays more than all', '/step', () => json({ observation: '', reward: 7 }), 'name the largest one as reward.scale'],
  ])(
    'a server that %s ends the run with the reason, and the run goes on when it is well',
    async (_what, path, answer, message) => {
      let asked = 0;
      fault = { path, answer: () => (asked++ < 4 ? undefined : answer()) };
      const failed = await collect('--rollouts', '2', '--max-steps', '6');
      expect(failed.code).toBe(1);
      expect(`${failed.stdout}${failed.stderr}`).toContain(message);
      expect(`${failed.stdout}${failed.stderr}`).toContain(`espalier collect --resume ${RUN}`);
      expect(await countSteps()).toBeGreaterThan(0);
      fault = null;
      const resumed = await espalier('collect', '--resume', RUN);
      expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringContaining('completed: 6 rollouts')]);
    },
  );

  test('a server whose copy is the episode itself is named by its route, with the remedy', async () => {
    fault = { path: '/fork', answer: ({ episode }) => json({ episode }) };
    const failed = await collect('--search', 'mcts', '--iterations', '3', '--max-depth', '3');
    expect(failed.code).toBe(1);
    expect(`${failed.stdout}${failed.stderr}`).toContain(
      'POST /fork: the copy is the episode itself; answer the id of a new one',
    );
  });

  test('a server whose copies share state with their original is named by what a copy showed, with the remedy', async () => {
    fault = {
      path: '/fork',
      answer: ({ episode }) => {
        const copy = `c${episodes.size}`;
        const original = episodes.get(String(episode)) ?? { left: 0, n: 0 };
        const share = (left: number) => Object.assign(original, { left });
        const state = { get: () => original.left, set: share, enumerable: true };
        episodes.set(copy, Object.defineProperty({ n: original.n, left: 0 }, 'left', state));
        return json({ episode: copy });
      },
    };
    const failed = await collect('--search', 'mcts', '--iterations', '3', '--max-depth', '3');
    expect(failed.code).toBe(1);
    const said = `${failed.stdout}${failed.stderr}`;
    expect(said).toMatch(/copies of an episode of countdown share state: after "(down|wait)" it showed "-?\d", and the same/);
    expect(said).toContain('share nothing with its original, or offer none');
    fault = null;
    const resumed = await espalier('collect', '--resume', RUN);
    expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringContaining('completed: ')]);
  });

  test('a server that opens a task otherwise each time fails its run, and the reason says so', async () => {
    let openings = 0;
    fault = { path: '/reset', answer: () => json({ observation: `Opening ${openings++}.`, actions: ['down'] }) };
    const failed = await collect('--rollouts', '2', '--max-steps', '3');
    expect(failed.code).toBe(1);
    expect(failed.stdout).toContain('6 of 6 rollouts failed: the environment opens the task otherwise than was recorded');
  });

  test('a server that has other tasks after a restart is no world that the run goes on in', async () => {
    let asked = 0;
    fault = { path: '/step', answer: () => (asked++ < 4 ? undefined : null) };
    expect((await collect('--rollouts', '2', '--max-steps', '6')).code).toBe(1);
    fault = {
      path: '/',
      answer: () => json({ protocol: PROTOCOL, name: 'countdown', fingerprint: '2', tasks: ['7', '8', '9'], fork: true }),
    };
    const other = await espalier('collect', '--resume', RUN);
    expect(other.code).toBe(1);
    expect(other.stderr).toContain('put back what the run began with, or begin a new run');
  });
});

async function countSteps(): Promise<number> {
  return (await platform.database.db.selectFrom('steps').select('stepId').where('depth', '>', 0).execute()).length;
}
