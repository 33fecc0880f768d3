import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { derivedId } from '../../events/derived-id.ts';
import type { Envelope } from '../../events/envelope.ts';
import { newId } from '../../events/new-id.ts';
import { createKey, type NewKey } from '../../postgres/keys.ts';
import { replaceKey } from '../../postgres/replace-key.ts';
import { readOwners } from '../../projections/owners/read-owners.ts';
import type { EventBuilder } from '../../testing/event-builder.ts';
import type { ServeOptions, TestApi } from '../http-testing.ts';
import { DrawnBuilder, refused } from './ingest-testing.ts';

/** Describes who may append where, over a log. @param open opens a server with the given options over a log of its own. */
export function describeOwners(open: (given?: { readonly api: ServeOptions['api'] }) => Promise<TestApi>): void {
  let api: TestApi;
  beforeAll(async () => {
    api = await open({ api: { catchUpMs: 60_000 } }); // a machine that runs other tests too may fold slowly
    await api.project();
  });
  afterAll(() => api.close());

  async function makeKey(key: Partial<NewKey> = {}) {
    const made = await createKey(api.database.db, { name: 'tester', scopes: ['ingest'], ...key });
    return { keyId: made.apiKey.keyId, headers: { authorization: `Bearer ${made.key}` } as Record<string, string> };
  }
  const keyOf = async (key?: Partial<NewKey>) => (await makeKey(key)).headers;

  /** A run of a key of its own, with a tree whose rollout failed, as the read models have it. */
  async function givenVictim(key?: Partial<NewKey>) {
    const { keyId, headers: owner } = await makeKey(key);
    const builder = new DrawnBuilder();
    const runId = builder.run();
    const tree = builder.tree(runId);
    const { rolloutId, steps } = builder.walk(tree, 0, 2, 0);
    const leaf = steps.at(-1) ?? '';
    const rewardId = builder.reward(tree, leaf, 0.5, { rolloutId });
    const answer = await api.post(builder.events, owner);
    expect(answer.status).toBe(200);
    await api.projected(answer.body.position ?? '');
    return { owner, keyId, builder, runId, tree, rolloutId, leaf, rewardId };
  }
  type Victim = Awaited<ReturnType<typeof givenVictim>>;

  const revise = ({ builder, tree, rewardId, runId }: Victim) =>
    builder.record(
      'RewardRevised',
      { rewardId, treeId: tree.treeId, value: -1_000, scorer: { name: 'x', revision: '1' }, reason: '' },
      runId,
    );
  const assign = ({ builder, tree, leaf, rolloutId }: Victim) => {
    builder.reward(tree, leaf, 50, { rolloutId });
    return last(builder);
  };
  const finish = ({ builder, runId }: Victim) => {
    builder.finishRun(runId, { outcome: 'cancelled' });
    return last(builder);
  };

  describe('a stream of another key of the same project', () => {
    test.each([
      ['a revised reward', revise, 'belongs to another key, and RewardRevised of others needs the scope judge'],
      ['a reward', assign, 'belongs to another key, and RewardAssigned of others needs the scope judge'],
      ['the end of a run', finish, 'belongs to another key: RunFinished is accepted from its owner alone'],
    ])('%s is refused with the reason and the remedy', async (_, forge, message) => {
      const victim = await givenVictim();
      const forged = forge(victim);
      const other = await keyOf();
      await refused(api, () => api.post([forged], other), 403, { index: 0, message: expect.stringContaining(message) });
    });

    test('a tree below a run of another key is refused, whether the tree is open or not', async () => {
      const victim = await givenVictim();
      const other = await keyOf();
      victim.builder.tree(victim.runId, 'future');
      await refused(api, () => api.post([last(victim.builder)], other), 403, { path: 'data.treeId' });
    });

    test('events in a tree that its owner has not opened yet make nobody its owner', async () => {
      const victim = await givenVictim();
      const tree = victim.builder.tree(victim.runId, 'future');
      const opened = last(victim.builder);
      const other = await keyOf();
      const mine = new DrawnBuilder();
      const step = mine.step({ ...tree, runId: mine.run() }, null, tree.rootStepId, 1);
      expect(step).toEqual(expect.any(String));
      await refused(api, () => api.post([mine.events.at(-1) ?? opened], other), 422);
      expect((await api.post([opened], victim.owner)).status).toBe(200);
    });

    test('an event that comes in its request before what opens its stream is refused', async () => {
      const { headers } = await makeKey();
      const builder = new DrawnBuilder();
      const tree = builder.tree(builder.run());
      builder.rollout(tree);
      const message = `no stream ${tree.treeId} is on record`;
      const swapped = [...builder.events.slice(0, 1), ...builder.events.slice(1).reverse()];
      await refused(api, () => api.post(swapped, headers), 422, { index: 1, message });
      expect((await api.post(builder.events, headers)).status).toBe(200);
    });

    test('a request that is refused opens nothing: what follows in its tree is refused until the tree is opened', async () => {
      const victim = await givenVictim();
      const tree = victim.builder.tree(victim.runId, 'refused');
      const opened = last(victim.builder);
      const known = victim.builder.events[0] as Envelope<'RunStarted'>;
      const contradiction = { ...known, data: { ...known.data, name: 'another' } };
      expect((await api.post([contradiction, opened], victim.owner)).status).toBe(409);
      victim.builder.rollout(tree);
      const rollout = last(victim.builder);
      await refused(api, () => api.post([rollout], victim.owner), 422, { path: 'data.treeId' });
      expect((await api.post([opened, rollout], victim.owner)).status).toBe(200);
    });

    test('a judge revises and assigns rewards, and ends no run', async () => {
      const victim = await givenVictim();
      const judge = await keyOf({ scopes: ['judge'] });
      for (const event of [revise(victim), assign(victim)])
        expect((await api.post([event], judge)).body).toMatchObject({ appended: 1 });
      await refused(api, () => api.post([finish(victim)], judge), 403, { path: 'type' });
    });

    test('an administrator of the project, and who works on the machine itself, may add to it', async () => {
      const victim = await givenVictim();
      const admin = await keyOf({ scopes: ['admin'] });
      expect((await api.post([revise(victim)], admin)).status).toBe(200);
      expect((await api.post([finish(victim)])).status).toBe(200);
    });

    test('its owner goes on with it', async () => {
      const victim = await givenVictim();
      expect((await api.post([revise(victim), assign(victim), finish(victim)], victim.owner)).status).toBe(200);
    });

    test('a key that replaces its owner goes on with it, and what the successor opens is closed to its predecessor', async () => {
      const victim = await givenVictim();
      const replaced = await replaceKey(api.database.db, victim.keyId, { until: new Date(Date.now() + 3_600_000) });
      if (replaced.kind !== 'replaced') throw new Error(`the key was not replaced: ${replaced.kind}`);
      const successor = { authorization: `Bearer ${replaced.key}` };
      victim.builder.tree(victim.runId, 'behind');
      expect((await api.post([last(victim.builder)], successor)).status).toBe(200);
      const own = new DrawnBuilder();
      const runId = own.run();
      expect((await api.post(own.events, successor)).status).toBe(200);
      own.finishRun(runId);
      await refused(api, () => api.post([last(own)], victim.owner), 403, {
        message: expect.stringContaining('RunFinished is accepted from its owner alone'),
      });
      const again = await replaceKey(api.database.db, replaced.apiKey.keyId);
      if (again.kind !== 'replaced') throw new Error(`the successor was not replaced: ${again.kind}`);
      const third = { authorization: `Bearer ${again.key}` };
      expect((await api.post([finish(victim), last(own)], third)).status).toBe(200);
      const { url } = await api.serve(); // a server that remembers no key
      expect((await api.post([last(own)], successor, url)).status).toBe(401);
    });

    test('the same run, started again by another key, stays with who started it first', async () => {
      const victim = await givenVictim();
      const [started] = victim.builder.events;
      if (!started) throw new Error('a builder begins with its run');
      const other = await keyOf();
      const { url } = await api.serve(); // a server that remembers nothing
      await refused(api, () => api.post([{ ...started, id: newId() }], other, url), 403, { path: 'data.runId' });
      expect(await readOwners(api.database.db, 'runs', [victim.runId])).toEqual(
        new Map([[victim.runId, { stream: victim.runId, project: 'default', principal: expect.stringMatching(/^key:/) }]]),
      );
    });
  });

  describe('a stream of another project', () => {
    test('it is not there for a key, whatever its scopes are', async () => {
      const victim = await givenVictim({ projects: ['atlas'] });
      for (const scopes of [['ingest'], ['judge'], ['admin']] as const) {
        const other = await keyOf({ scopes, projects: ['borealis'] });
        for (const event of scopes[0] === 'judge' ? [revise(victim)] : [revise(victim), finish(victim)])
          await refused(api, () => api.post([event], other), 422, {
            message: expect.stringMatching(/^no stream .* is on record$/),
          });
      }
    });

    test('a key of two projects writes the one that the request names', async () => {
      const victim = await givenVictim({ projects: ['atlas'] });
      const both = await keyOf({ scopes: ['admin'], projects: ['borealis', 'atlas'] });
      await refused(api, () => api.post([revise(victim)], both), 403, {
        message: expect.stringContaining('belongs to project atlas, and this request writes borealis'),
        remedy: 'send the header espalier-project: atlas',
      });
      expect((await api.post([revise(victim)], { ...both, 'espalier-project': 'atlas' })).status).toBe(200);
      await refused(api, () => api.post([revise(victim)], { ...both, 'espalier-project': 'cygnus' }), 403);
    });

    test('its ids cannot be computed and taken: an id of version 8 follows from the data of its event', async () => {
      const victim = await givenVictim({ projects: ['atlas'] });
      const builder = new DrawnBuilder();
      const runId = builder.run();
      const tree = { treeId: derivedId('tree', victim.runId, 0, 'a'), rootStepId: builder.id('root') };
      builder.tree(runId, 'a', tree);
      const other = await keyOf({ projects: ['borealis'] });
      await refused(api, () => api.post(builder.events, other), 400, {
        index: 1,
        path: 'data.treeId',
        remedy: expect.stringContaining('draw a random UUID'),
      });
    });

    test('none of its runs can be named as the run that an event belongs to, and one of the own project can', async () => {
      const { runId } = await givenVictim({ projects: ['atlas'] });
      const other = await keyOf({ projects: ['borealis'] });
      const builder = new DrawnBuilder();
      const tree = builder.tree(builder.run());
      const step = builder.step(tree, null, tree.rootStepId, 1);
      expect((await api.post(builder.events, other)).status).toBe(200);
      const say = (correlationId: string) => {
        const seen = builder.events.length;
        builder.reward(tree, step, 1);
        builder.reward({ ...tree, runId: correlationId }, step, 1); // the second of its type in its stream
        const subject = { kind: 'step', stepId: step } as const;
        const annotationId = builder.id('annotation', correlationId);
        const said = { annotationId, treeId: tree.treeId, subject, label: 'bad', score: null, note: '' };
        builder.record('AnnotationAdded', said, correlationId);
        return builder.events.slice(seen);
      };
      const foreign = say(runId);
      for (const events of [foreign, foreign.slice(2)])
        await refused(api, () => api.post(events, other), 422, {
          path: 'correlationId',
          message: `no run ${runId} is on record`,
        });
      const second = builder.run('second');
      expect((await api.post([last(builder), ...say(second)], other)).status).toBe(200);
      expect((await api.post(say(builder.id('a run that nobody began')), other)).status).toBe(200);
      const next = derivedId('captured-run', 'atlas', 'nightly'); // the id that a run of the other project will have
      await refused(api, () => api.post(say(next), other), 422, { path: 'correlationId' });
    });

    test('none of its experiments takes up a run, and one of the own project does', async () => {
      const owner = new DrawnBuilder();
      const declare = (builder: DrawnBuilder) => {
        const experimentId = builder.id('experiment');
        builder.record('ExperimentDeclared', { experimentId, name: 'sweep', question: '' }, experimentId);
        return experimentId;
      };
      const theirs = declare(owner);
      expect((await api.post(owner.events, await keyOf({ projects: ['atlas'] }))).status).toBe(200);
      const other = await keyOf({ projects: ['borealis'] });
      for (const experimentId of [theirs, derivedId('experiment', 'sweep', '')]) {
        const builder = new DrawnBuilder();
        builder.run('run', { experimentId });
        await refused(api, () => api.post(builder.events, other), 422, { path: 'data.experimentId' });
      }
      const own = new DrawnBuilder();
      own.run('run', { experimentId: declare(own) });
      own.run('second', { experimentId: own.id('of another system') });
      expect((await api.post(own.events, other)).status).toBe(200);
    });

    const release = (builder: DrawnBuilder, runs: readonly string[]) => {
      const datasetId = builder.id('dataset');
      const made = { name: datasetId, version: 1, format: 'jsonl', formatVersion: 1, query: {}, parameters: {}, position: {} };
      const file = { counts: {}, bytes: 1, sha256: 'a'.repeat(64), codeVersion: '1', runs: [...runs] };
      return builder.record('DatasetReleased', { datasetId, ...made, ...file }, datasetId);
    };

    test('a dataset cannot be released from its runs', async () => {
      const { runId } = await givenVictim({ projects: ['atlas'] });
      const other = await keyOf({ projects: ['borealis'] });
      await refused(api, () => api.post([release(new DrawnBuilder(), [runId])], other), 422, { path: 'data.runs.0' });
    });

    test('rows of its datasets cannot be annotated, and those of the own project can', async () => {
      const owner = await keyOf({ projects: ['atlas'] });
      const builder = new DrawnBuilder();
      const { datasetId } = release(builder, []).data;
      const { body } = await api.post(builder.events, owner);
      await api.projected(body.position ?? '');
      const reader = new DrawnBuilder();
      const { treeId, runId } = reader.tree(reader.run());
      const subject = { kind: 'row', datasetId, line: 1 } as const;
      const said = { annotationId: reader.id('annotation'), treeId, subject, label: 'odd', score: null, note: '' };
      reader.record('AnnotationAdded', said, runId);
      const other = await keyOf({ projects: ['borealis'] });
      await refused(api, () => api.post(reader.events, other), 422, { path: 'data.subject.datasetId' });
      expect((await api.post(reader.events, owner)).status).toBe(200);
    });

    test('a payload of its events cannot be named, and one of the own project can', async () => {
      const text = 'secret '.repeat(20_000);
      const owner = await keyOf({ projects: ['atlas'] });
      const builder = new DrawnBuilder();
      const tree = builder.tree(builder.run());
      builder.step(tree, null, tree.rootStepId, 1, { observation: text });
      const { body } = await api.post(builder.events, owner);
      await api.projected(body.position ?? '');
      const { blobs } = await api.database.db
        .selectFrom('steps')
        .select('blobs')
        .where('treeId', '=', tree.treeId)
        .where('depth', '=', 1)
        .executeTakeFirstOrThrow();
      const observation = blobs?.observation;
      if (!observation) throw new Error('a text over 64 KiB is a payload');
      const reader = new DrawnBuilder();
      const mine = reader.tree(reader.run());
      reader.step(mine, null, mine.rootStepId, 1, { observation });
      const other = await keyOf({ projects: ['borealis'] });
      await refused(api, () => api.post(reader.events, other), 422, { path: 'data.observation' });
      expect((await api.post(reader.events, owner)).status).toBe(200);
    });
  });

  test('while the owners are behind the log, an event of a key is answered 503 and not appended', async () => {
    const idle = await open();
    try {
      const { url } = await idle.serve({ api: { catchUpMs: 50 } });
      const { key } = await createKey(idle.database.db, { name: 'early', scopes: ['ingest'] });
      const builder = new DrawnBuilder();
      builder.run();
      await idle.post(builder.events);
      builder.run('second');
      const answer = await idle.post(builder.events.slice(-1), { authorization: `Bearer ${key}` }, url);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await idle.records()).toBe(1);
    } finally {
      await idle.close();
    }
  });
}

function last(builder: EventBuilder) {
  const event = builder.events.at(-1);
  if (!event) throw new Error('it was recorded just now');
  return event;
}
