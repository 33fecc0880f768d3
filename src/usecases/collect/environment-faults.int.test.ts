import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PROTOCOL } from '../../environments/server/protocol.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { collect } from './collect.ts';
import type { CollectPlan } from './plan.ts';

const SOURCE = `
import os, time
from espalier_rl import Environment, Opening, Step


class Faults(Environment):
    tasks = ["well", "exits", "hangs", "raises", "exits at reset"]

    def reset(self, task, seed):
        self.task, self.taken = task, 0
        if os.path.exists(os.path.join(os.path.dirname(__file__), "closed")):
            raise KeyError("the house is closed")
        if task == "exits at reset":
            os._exit(4)
        return Opening("go " + task, actions=["go"])

    def step(self, action):
        self.taken += 1
        if self.taken == 2 and self.task == "exits":
            os._exit(3)
        if self.taken == 2 and self.task == "hangs":
            time.sleep(100000)
        if self.taken == 2 and self.task == "raises":
            raise KeyError("no such room")
        time.sleep(0.05)
        return Step("step " + str(self.taken), 0.0, self.taken == 3, success=self.taken == 3, actions=["go"])
`;
const LATE = `
from espalier_rl import Environment, Opening, Step


class Late(Environment):
    tasks = ["a", "b", "well"]
    compare = 0

    def reset(self, task, seed):
        self.task, self.log = task, []
        return Opening("go " + task, actions=["x", "y"])

    def fork(self):
        copy = Late()
        copy.task = self.task
        copy.log = self.log if len(self.log) >= 3 and self.task != "well" else list(self.log)
        return copy

    def step(self, action):
        self.log.append(action)
        return Step(" ".join(self.log), 0.0, len(self.log) >= 7, actions=["x", "y"])
`;
const CLAIMS = `
from espalier_rl import Environment, Opening, Step

played = 0


class Claims(Environment):
    tasks = ["true", "false"]
    deterministic, compare = True, 1

    def reset(self, task, seed):
        global played
        played += 1
        self.task, self.taken, self.number = task, 0, played
        return Opening("go " + task, actions=["go"])

    def step(self, action):
        self.taken += 1
        return Step(f"{self.taken} {self.number if self.task == 'false' else ''}", 0.0, self.taken == 3, actions=["go"])
`;
const UNMADE = `
import { existsSync } from 'node:fs';
const { pathname: closed } = new URL('./closed', import.meta.url);
const play = () => ({
  reset: () => ({ observation: 'go', admissibleActions: ['go'] }),
  step: () => ({ observation: 'on', reward: 0, admissibleActions: ['go'] }),
});
export const environment = {
  name: 'unmade',
  open: () => ({ taskAliases: ['well'], timeout: 0.1, create: () => (existsSync(closed) ? new Promise(() => {}) : play()) }),
};
`;
const THROWS = `
const play = () => {
  let task = '';
  let taken = 0;
  return {
    reset({ alias }) {
      task = alias;
      if (task === 'refuses') throw new TypeError('the house is closed');
      return { observation: 'go', admissibleActions: ['go'], ...(task === 'deep' ? { depth: 'far' } : {}) };
    },
    parse(response) {
      if (task === 'unread') throw new Error('no verb');
      return { thought: '', action: response.split('Action: ')[1], wellFormatted: true };
    },
    step() {
      taken++;
      if (taken === 2 && task === 'throws') throw new Error('no such room');
      if (taken === 2 && task === 'refused') throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
      if (taken === 2 && task === 'odd') return { observation: 'on', reward: 0, terminated: 'no', admissibleActions: ['go'] };
      if (taken === 2 && task === 'lists') return { observation: 'on', reward: 0, admissibleActions: 'go' };
      return { observation: 'on', reward: 0, terminated: taken === 3, success: taken === 3, admissibleActions: ['go'] };
    },
    close() {
      if (task === 'well') throw new Error('the door is stuck');
    },
  };
};
const taskAliases = ['well', 'throws', 'refused', 'unread', 'odd', 'lists', 'refuses', 'deep'];
export const environment = { name: 'throws', open: () => ({ taskAliases, create: play }) };
`;
const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'python-faults-'));
  await writeFile(join(folder, 'faults.py'), SOURCE);
  await writeFile(join(folder, 'late.py'), LATE);
  await writeFile(join(folder, 'claims.py'), CLAIMS);
  await writeFile(join(folder, 'unmade.mjs'), UNMADE);
  await writeFile(join(folder, 'throws.mjs'), THROWS);
});
afterAll(() => rm(folder, { recursive: true }));

const faults = () => `python:${join(folder, 'faults.py')};timeout=5`;

async function collected(
  tasks: readonly string[],
  search: CollectPlan['search'] = null,
  environment = `python:${join(folder, 'faults.py')};timeout=2`,
  concurrency = 8,
) {
  const runId = newId();
  const plan: CollectPlan = {
    environment,
    tasks: tasks.map((alias) => ({ alias, rollouts: alias === 'well' ? 4 : 1, branching: 'root' })),
    taskSeed: 0,
    policy: 'random',
    temperature: 1,
    maxSteps: 5,
    search,
  };
  const signal = new AbortController().signal;
  const result = await collect(platform, { runId, name: 'r', seed: 1, plan, concurrency, signal, mode: 'new' });
  const { db } = platform.database;
  await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
  const ends = await db
    .selectFrom('rollouts')
    .innerJoin('trees', 'trees.treeId', 'rollouts.treeId')
    .select(['trees.alias', 'outcome', 'steps', 'reason'])
    .where('trees.runId', '=', runId)
    .execute();
  return { result, ends };
}

test('a Python environment that ends, hangs or raises for one task fails that rollout with the reason, and the others go on', async () => {
  const { result, ends } = await collected(['well', 'exits', 'hangs', 'raises', 'exits at reset']);
  expect(result).toMatchObject({ state: 'completed', rollouts: 7, succeeded: 4, failed: 4, mostFailed: false });
  const file = join(folder, 'faults.py');
  const again = 'so did the one that was started in its place';
  const reasons = new Map(ends.filter(({ outcome }) => outcome === 'failed').map(({ alias, reason }) => [alias, reason]));
  expect([...reasons.keys()].sort()).toEqual(['exits', 'hangs', 'raises']);
  expect(reasons.get('exits')).toBe(`the process of ${file} has ended (it ended with exit code 3); ${again}`);
  expect(reasons.get('hangs')).toContain(`/step of ${file} has not answered within 2000 ms`);
  expect(reasons.get('raises')).toContain("Faults raised KeyError: 'no such room'");
  expect(result.message).toContain(`1 × the process of ${file} has ended (it ended with exit code 4); ${again}`);
  expect(ends.filter(({ outcome }) => outcome === 'failed').map(({ steps }) => steps)).toEqual([1, 1, 1]);
});

test('a module that throws or returns what cannot be recorded for one task fails that rollout with the reason, and the others go on', async () => {
  const tasks = ['well', 'throws', 'refused', 'unread', 'odd', 'lists', 'refuses', 'deep'];
  const { result, ends } = await collected(tasks, null, `module:${join(folder, 'throws.mjs')}`);
  expect(result).toMatchObject({ state: 'completed', rollouts: 9, succeeded: 4, failed: 7, mostFailed: true });
  const place = `environment ${join(folder, 'throws.mjs')}#environment`;
  const odd = `the environment's answer to the action "go"`;
  const reasons = new Map(ends.filter(({ outcome }) => outcome === 'failed').map(({ alias, reason }) => [alias, reason]));
  expect(Object.fromEntries(reasons)).toEqual({
    throws: `${place}: step at the action "go" threw no such room`,
    refused: `${place}: step at the action "go" threw connect`,
    unread: `${place}: parse threw no verb`,
    odd: `${odd}.terminated must be true or false`,
    lists: expect.stringContaining(`${odd}.admissibleActions`),
  });
  expect(result.reasons.map(({ reason }) => reason)).toEqual(
    expect.arrayContaining([
      `${place}: reset threw the house is closed`,
      expect.stringContaining("the environment's opening of task deep.depth"),
    ]),
  );
});

test.each([
  ['rollouts', null],
  ['a search', { iterations: 2, candidates: 1, maxDepth: 4, exploration: 1 }],
] as const)(
  'a server that answers odd things for some tasks fails %s of them with the reason, and the others go on',
  async (...of) => {
    const [, search] = of;
    const server = await startOddServer();
    try {
      const { result, ends } = await collected(['well', 'html', 'shape', 'unopened'], search, server.url);
      expect(result).toMatchObject({ state: 'completed', failed: 3 });
      const reasons = result.reasons.map(({ reason }) => reason).sort();
      expect(reasons).toEqual([
        expect.stringMatching(/^POST \/reset answered HTTP 500 without JSON/),
        expect.stringMatching(/^POST \/step answered HTTP 500 without JSON: <h1>Internal Server Error/),
        expect.stringMatching(/^POST \/step: observation /),
      ]);
      if (search === null) expect(ends.filter(({ outcome }) => outcome === 'failed')).toHaveLength(2);
    } finally {
      await server.close();
    }
  },
);

/** Serves an environment that answers a page, another shape or no opening for some of its tasks. */
async function startOddServer() {
  const tasks = new Map<string, string>();
  const routes: Record<string, (asked: { episode?: string; task?: string; n?: number }) => unknown> = {
    '/': () => ({ protocol: PROTOCOL, name: 'odd', fingerprint: '1', tasks: ['well', 'html', 'shape', 'unopened'] }),
    '/create': () => ({ episode: newId() }),
    '/reset': ({ episode = '', task = '' }) => {
      tasks.set(episode, task);
      return task === 'unopened' ? null : { observation: 'go', actions: ['go'] };
    },
    '/step': ({ episode = '', n = 0 }) => {
      const task = tasks.get(episode);
      if (task === 'html') return null;
      return task === 'shape' ? { observation: 7 } : { observation: `on ${n}`, terminated: n === 2, actions: ['go'] };
    },
    '/close': () => ({}),
  };
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const answer = routes[req.url ?? '']?.(chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {});
      res.writeHead(answer ? 200 : 500).end(answer ? JSON.stringify(answer) : '<h1>Internal Server Error</h1>');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

const hanging = () => `module:${join(folder, 'unmade.mjs')}`;

test.each<[string, CollectPlan['search'], () => string, string]>([
  ['rollouts', null, faults, 'the house is closed'],
  ['a search', { iterations: 2, candidates: 1, maxDepth: 4, exploration: 1 }, faults, 'the house is closed'],
  ['rollouts of a module', null, hanging, 'create has not settled'],
])('a task that a resumed run cannot open any more ends what is open of %s with the reason, and its tree', async (_, ...of) => {
  const [search, environment, reason] = of;
  const runId = newId();
  const plan: CollectPlan = {
    environment: environment(),
    tasks: [{ alias: 'well', rollouts: 2, branching: 'root' }],
    taskSeed: 0,
    policy: 'random',
    temperature: 1,
    maxSteps: 5,
    search,
  };
  const run = { runId, name: 'r', seed: 1, plan, concurrency: 1 };
  const stopping = new AbortController();
  const progress = ({ steps }: { steps: number }) => {
    if (steps > 0) stopping.abort();
  };
  expect(await collect(platform, { ...run, signal: stopping.signal, mode: 'new', progress })).toMatchObject({ state: 'stopped' });
  const { db } = platform.database;
  const settled = async () => waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
  await settled();
  await writeFile(join(folder, 'closed'), '');
  try {
    const ended = await collect(platform, { ...run, signal: new AbortController().signal, mode: 'resume' });
    expect(ended).toMatchObject({ failedTrees: 0 });
    expect(ended.state).not.toBe('stopped');
    if (search === null) expect(ended).toMatchObject({ state: 'failed', rollouts: 2, failed: 2 });
  } finally {
    await rm(join(folder, 'closed'));
  }
  await settled();
  const tree = await db.selectFrom('trees').select(['treeId', 'closedAt']).where('runId', '=', runId).executeTakeFirstOrThrow();
  expect(tree.closedAt).not.toBeNull();
  const ends = await db.selectFrom('rollouts').select(['outcome', 'reason']).where('treeId', '=', tree.treeId).execute();
  const failed = { outcome: 'failed', reason: expect.stringContaining(reason) };
  expect(ends).toEqual(search === null ? [failed, failed] : []);
});

test('a run in which most rollouts failed says so', async () => {
  const { result } = await collected(['exits', 'raises', 'exits at reset']);
  expect(result).toMatchObject({ state: 'failed', mostFailed: true });
});

test('a search goes on at other nodes where the environment ends over an action', async () => {
  const { result } = await collected(['well', 'exits'], { iterations: 2, candidates: 1, maxDepth: 4, exploration: 1 });
  expect(result).toMatchObject({ state: 'completed', trees: 2, comparisons: 0 });
});

test('copies that begin to share state at the third step are found where a search comes there first', async () => {
  const search = { iterations: 8, candidates: 4, maxDepth: 6, exploration: 1 };
  const late = `python:${join(folder, 'late.py')};timeout=2`;
  // also where another tree came to that depth before, whose copies share nothing
  for (const tasks of [
    ['a', 'b'],
    ['well', 'a'],
  ])
    await expect(collected(tasks, search, late, 1)).rejects.toThrow(/^copies of an episode of late share state: after /);
});

test('an environment that claims to be deterministic is asked twice in a plain collection, and refused where it answers otherwise', async () => {
  const claims = `python:${join(folder, 'claims.py')}`;
  const { result } = await collected(['true'], null, claims);
  expect(result).toMatchObject({ state: 'completed', rollouts: 1, comparisons: 1, undecided: 0 });
  await expect(collected(['false'], null, claims)).rejects.toThrow(
    /^claims claims to be deterministic and is not: after "go" it showed "1 \d+", and the same actions from the opening show "1 \d+" in task "[^"]+"; leave "deterministic" out of its description$/,
  );
  const late = await collected(['true', 'false'], null, claims, 1); // a claim of a run that is on record up to there
  expect(late.result).toMatchObject({ state: 'completed', rollouts: 2, undecided: 1 });
  expect((await collected(['well'])).result.comparisons).toBeNull(); // claims nothing
});
