import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { catalogue } from '../../events/catalogue.ts';
import { encode } from '../../events/codec.ts';
import { entityOf } from '../../events/entity-of.ts';
import type { Envelope } from '../../events/envelope.ts';
import { newId } from '../../events/new-id.ts';
import { formatPosition } from '../../log/position.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { everyEvent } from '../../testing/every-event.ts';
import type { TestApi } from '../http-testing.ts';
import { DrawnBuilder, refused } from './ingest-testing.ts';

/** Describes what becomes of a second event of one fact, over a log. @param open opens a server over a log of its own. */
export function describeSecondFacts(open: () => Promise<TestApi>): void {
  let api: TestApi;
  beforeAll(async () => {
    api = await open();
    await api.project();
  });
  afterAll(() => api.close());

  const changes: Readonly<Record<string, object>> = {
    RunStarted: { name: 'other' },
    TreeOpened: { plannedRollouts: 7 },
    RolloutStarted: { seed: 77 },
    StepTaken: { action: 'other' },
    ToolCalled: { output: 'other' },
    RewardAssigned: { value: 0.125 },
    AnnotationAdded: { label: 'bad' },
    RolloutFinished: { outcome: 'failed', success: false },
    TreeClosed: { rollouts: 7 },
    RunFinished: { outcome: 'failed' },
  };

  /** A finished run with one event of each type. */
  function givenRecord(): readonly Envelope[] {
    const builder = new DrawnBuilder();
    const runId = builder.run();
    const tree = builder.tree(runId);
    const { treeId } = tree;
    const rolloutId = builder.rollout(tree);
    const stepId = builder.step(tree, rolloutId, tree.rootStepId, 1);
    const call = { ordinal: 0, tool: 'search', arguments: '1', output: '2', outcome: 'ok', durationMs: 1 } as const;
    builder.record('ToolCalled', { toolCallId: newId(), treeId, stepId, ...call }, runId);
    builder.reward(tree, stepId, 1, { rolloutId });
    const annotation = { annotationId: newId(), treeId, label: 'good', score: null, note: '' };
    builder.record('AnnotationAdded', { ...annotation, subject: { kind: 'step', stepId } }, runId);
    builder.finishRollout(tree, rolloutId, stepId);
    builder.closeTree(tree, 1);
    builder.finishRun(runId);
    return builder.events;
  }

  /** A run with a tree, a revision of that and its verification. */
  function givenRevision(revisionId: string): readonly Envelope[] {
    const builder = new DrawnBuilder();
    const tree = builder.tree(builder.run());
    const { treeId, runId, rootStepId: branchStepId } = tree;
    const leaf = builder.step(tree, null, branchStepId, 1);
    const steps = { goodLeafStepId: leaf, badLeafStepId: leaf, branchStepId, transitionStepId: leaf };
    const every = everyEvent();
    const composed = every.find(({ type }) => type === 'RevisionComposed') as Envelope<'RevisionComposed'>; // one of each type
    const verified = every.find(({ type }) => type === 'RevisionVerified') as Envelope<'RevisionVerified'>;
    builder.record('RevisionComposed', { ...composed.data, ...steps, revisionId, treeId }, runId);
    builder.record('RevisionVerified', { ...verified.data, revisionId, treeId }, runId);
    return builder.events;
  }

  /** The same fact by another event, and one that says something else. */
  function secondsOf(first: Envelope): { readonly same: Envelope; readonly other: Envelope } {
    const same = { ...first, id: newId() } as Envelope;
    const other = { ...first, id: newId(), data: { ...first.data, ...changes[first.type] } } as Envelope; // of the same type
    return { same, other };
  }

  const projected = async () => api.projected(formatPosition(await api.log.ends(['runs', 'trees'])));
  const append = async (events: readonly Envelope[]) => {
    await api.log.append(
      events.map((event) => ({ topic: catalogue[event.type].topic, key: event.stream, value: encode(event) })),
    );
    await projected();
  };

  describe.each(Object.keys(changes))('a second %s of one entity', (type) => {
    const given = () => {
      const events = givenRecord();
      const first = events.find((event) => event.type === type);
      if (!first) throw new Error(`the record has no ${type}`);
      return { events, first, ...secondsOf(first), path: `data.${entityOf(first)?.field}` };
    };

    test('it is refused (409) when it says something else: in one request, by the server that took the first, and by another', async () => {
      const { events, first, other, path } = given();
      await refused(api, () => api.post([...events, other]), 409, { path, index: events.length, id: other.id });
      expect(await api.post(events)).toMatchObject({ status: 200, body: { appended: events.length } });
      const problem = { path, index: 0, id: other.id, message: expect.stringContaining(`event ${first.id} on record`) };
      await refused(api, () => api.post([other]), 409, problem);
      await projected();
      const { url } = await api.serve();
      await refused(api, () => api.post([other], {}, url), 409, problem);
    });

    test('it is a repetition when it says the same: it is accepted, and not appended behind what is on record', async () => {
      const { events, same } = given();
      const duplicates = { status: 200, body: { accepted: 1, appended: 0, duplicates: 1 } };
      expect(await api.post([...events, same])).toMatchObject({ body: { appended: events.length + 1, duplicates: 0 } }); // the journal notes it
      expect(await api.post([same])).toMatchObject(duplicates);
      await projected();
      const { url } = await api.serve();
      expect(await api.post([same], {}, url)).toMatchObject(duplicates);
    });

    test('in the log, one that says something else is quarantined with the reason, and one that says the same is noted', async () => {
      const { events, first, same, other, path } = given();
      await append(events);
      await append([other, same]);
      const waiting = await rowsWhere(api.database.db, 'quarantine', { eventId: other.id }, [
        'projection',
        'code',
        'field',
        'reason',
      ]);
      const reason = expect.stringContaining(`has other content in event ${first.id} of this stream`);
      expect(waiting).toEqual([{ projection: 'journal', code: 'conflict', field: path, reason }]);
      expect(await rowsWhere(api.database.db, 'quarantine', { eventId: same.id }, ['code'])).toEqual([]);
      expect(await rowsWhere(api.database.db, 'anomalies', { eventId: same.id }, ['kind'])).toContainEqual({ kind: 'duplicate' });
    });
  });

  test('a fact that its server took for a run that the tree does not belong to is appended for the run that it belongs to', async () => {
    const late = await open();
    try {
      const projecting = await late.project();
      const events = givenRecord();
      const other = givenRecord()[0] as Envelope;
      const at = events.findIndex(({ type }) => type === 'StepTaken');
      const step = events[at] as Envelope<'StepTaken'>;
      const { position = '' } = (await late.post([other, ...events.slice(0, at)])).body;
      await late.projected(position);
      await projecting.close();
      const foreign = { ...step, id: newId(), correlationId: other.stream };
      expect(await late.post([foreign])).toMatchObject({ status: 200, body: { appended: 1 } });
      expect(await late.post([step])).toMatchObject({ status: 200, body: { appended: 1 } });
      await late.project();
      await late.projected(formatPosition(await late.log.ends(['runs', 'trees'])));
      expect(await rowsWhere(late.database.db, 'quarantine', { eventId: foreign.id }, ['code'])).toEqual([{ code: 'conflict' }]);
      expect(await rowsWhere(late.database.db, 'steps', { stepId: step.data.stepId }, ['stepId'])).toHaveLength(1);
    } finally {
      await late.close();
    }
  });

  test('a fact whose event was set aside for its id, which the log had, is appended under another id', async () => {
    const late = await open();
    try {
      const projecting = await late.project();
      const events = givenRecord();
      const at = events.findIndex(({ type }) => type === 'StepTaken');
      const step = events[at] as Envelope<'StepTaken'>;
      const { position = '' } = (await late.post(events.slice(0, at))).body;
      await late.projected(position);
      await projecting.close();
      const rollout = events.find(({ type }) => type === 'RolloutStarted') as Envelope;
      await late.log.append([{ topic: 'trees', key: step.stream, value: encode({ ...rollout, id: step.id }) }]); // as another server does
      expect(await late.post([step])).toMatchObject({ status: 200, body: { appended: 1 } });
      await late.project();
      await late.projected(formatPosition(await late.log.ends(['runs', 'trees'])));
      expect(await late.post([{ ...step, id: newId() }])).toMatchObject({ status: 200, body: { appended: 1 } });
      await late.projected(formatPosition(await late.log.ends(['runs', 'trees'])));
      expect(await rowsWhere(late.database.db, 'steps', { stepId: step.data.stepId }, ['stepId'])).toHaveLength(1);
    } finally {
      await late.close();
    }
  });

  test('a second fact that its server took before the journal knew of the first is refused (409) once it is quarantined', async () => {
    const late = await open();
    try {
      const projecting = await late.project();
      const events = givenRecord();
      const at = events.findIndex(({ type }) => type === 'StepTaken');
      const step = events[at] as Envelope;
      const { position = '' } = (await late.post(events.slice(0, at))).body;
      await late.projected(position);
      await projecting.close();
      const { other } = secondsOf(step);
      await late.log.append([{ topic: 'trees', key: step.stream, value: encode(other) }]); // as another server does
      expect(await late.post([step])).toMatchObject({ status: 200, body: { appended: 1 } });
      expect(await late.post([step])).toMatchObject({ status: 200, body: { duplicates: 1 } });
      await late.project();
      await late.projected(formatPosition(await late.log.ends(['runs', 'trees'])));
      expect(await rowsWhere(late.database.db, 'quarantine', { eventId: step.id }, ['code'])).toEqual([{ code: 'conflict' }]);
      const message = expect.stringContaining(`event ${other.id} on record`);
      await refused(late, () => late.post([step]), 409, { path: 'data.stepId', index: 0, id: step.id, message });
    } finally {
      await late.close();
    }
  });

  test.each([
    { what: 'a text over 64 KiB and its blob', sent: 'x'.repeat(70_000), same: 'stored', inLog: 'x'.repeat(70_000) },
    { what: 'a text with NUL and its repair', sent: 'a\0b', same: 'a\uFFFDb', inLog: 'a\uFFFDb' },
  ])('$what say the same: in one request, on record, and in the log', async ({ sent, same, inLog }) => {
    const events = givenRecord();
    const at = events.findIndex(({ type }) => type === 'StepTaken');
    const { position = '' } = (await api.post(events.slice(0, at))).body;
    await projected();
    expect(position).not.toBe('');
    const observation = same === 'stored' ? await api.blobs.put(Buffer.from(sent, 'utf8'), 'text/plain; charset=utf-8') : same;
    const step = events[at] as Envelope<'StepTaken'>;
    const says = (text: Envelope<'StepTaken'>['data']['observation']) =>
      ({ ...step, id: newId(), data: { ...step.data, observation: text } }) as const;
    const [first, second, third] = [says(sent), says(observation), says(inLog)];
    expect(await api.post([first, second])).toMatchObject({ status: 200, body: { appended: 2, duplicates: 0 } });
    await projected();
    const { url } = await api.serve();
    for (const server of [api.server.url, url])
      expect(await api.post([second], {}, server)).toMatchObject({ status: 200, body: { appended: 0, duplicates: 1 } });
    await append([third]);
    expect(await rowsWhere(api.database.db, 'quarantine', { eventId: third.id }, ['code'])).toEqual([]);
    expect(await rowsWhere(api.database.db, 'anomalies', { eventId: third.id }, ['kind'])).toContainEqual({ kind: 'duplicate' });
  });

  test('an id that two trees give to a revision of theirs names one in each', async () => {
    const revisionId = newId();
    const [one, other] = [givenRevision(revisionId), givenRevision(revisionId)];
    for (const events of [one.slice(0, -1), other.slice(0, -1), one.slice(-1), other.slice(-1)])
      expect(await api.post(events)).toMatchObject({ status: 200, body: { appended: events.length } });
    await projected();
    const verified = { state: 'verified' };
    expect(await rowsWhere(api.database.db, 'revisions', { revisionId }, ['state'])).toEqual([verified, verified]);
  });

  test('a tree belongs to the run that opened it first: what another run sends of it is refused, and quarantined in the log', async () => {
    const [started, opened] = givenRecord() as [Envelope<'RunStarted'>, Envelope<'TreeOpened'>];
    const builder = new DrawnBuilder();
    const otherRun = builder.run('other');
    const again = { ...opened, id: newId(), correlationId: otherRun, data: { ...opened.data, runId: otherRun } };
    builder.rollout({ treeId: opened.data.treeId, runId: otherRun, rootStepId: opened.data.rootStepId });
    const [declared, rollout] = builder.events as [Envelope, Envelope];
    await append([started, opened, declared, again, rollout]);
    const { treeId, runId } = opened.data;
    expect(await rowsWhere(api.database.db, 'trees', { treeId }, ['runId'])).toEqual([{ runId }]);
    expect(await rowsWhere(api.database.db, 'rollouts', { treeId }, ['rolloutId'])).toEqual([]);
    const reason = `tree ${treeId} belongs to run ${runId}, which opened it first; give a tree of another run an id of its own`;
    for (const { id: eventId } of [again, rollout])
      expect(await rowsWhere(api.database.db, 'quarantine', { eventId }, ['projection', 'field', 'reason'])).toEqual([
        { projection: 'journal', field: 'correlationId', reason },
      ]);
    await refused(api, () => api.post([{ ...again, id: newId() }]), 409, { path: 'data.treeId' });
  });
}
