import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isUuid } from '../../domain/ids.ts';
import { catalogue, type EventType } from '../../events/catalogue.ts';
import { contentHash, encode } from '../../events/codec.ts';
import { derivedId } from '../../events/derived-id.ts';
import { entityOf, factOf } from '../../events/entity-of.ts';
import { DEFAULT_STAMP, type Envelope } from '../../events/envelope.ts';
import { newId } from '../../events/new-id.ts';
import { formatPosition } from '../../log/position.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { everyEvent } from '../../testing/every-event.ts';
import { inWorld, pathsIn, payloadsOf, withValue } from '../../testing/vary-events.ts';
import type { TestApi } from '../http-testing.ts';
import { checkEvents, ruleOfPlatform } from './check-events.ts';
import { DrawnBuilder, refused } from './ingest-testing.ts';

const TYPES = Object.keys(catalogue) as readonly EventType[];

/** An event of a type, and others of the same fact. */
interface Given {
  readonly type: EventType;
  /** Whether a producer sends such events; others are written by the platform. */
  readonly isSent: boolean;
  readonly first: Envelope;
  /** Measured otherwise, where the type has measurements. */
  readonly same: Envelope;
  readonly other: Envelope;
  /** The path by which its entity is named; null where it may have many events of the type. */
  readonly fact: string | null;
}

function fits(event: Envelope): boolean {
  const checked = checkEvents([event], Date.now(), DEFAULT_STAMP);
  return checked.kind === 'events';
}

function otherThan(old: unknown): unknown {
  if (typeof old === 'number') return old + 1;
  return typeof old === 'string' ? `${old} other` : typeof old === 'boolean' ? !old : undefined;
}

function otherId(old: unknown): unknown {
  return typeof old === 'string' && isUuid(old) ? derivedId('test', 'other', old) : undefined;
}

/** Describes what becomes of a second event of one fact, over a log. @param open opens a server over a log of its own. */
export function describeSecondFacts(open: () => Promise<TestApi>): void {
  let api: TestApi;
  beforeAll(async () => {
    api = await open();
    await api.project();
  });
  afterAll(() => api.close());

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

  const projected = async () => api.projected(formatPosition(await api.log.ends(['runs', 'trees'])));
  const append = async (events: readonly Envelope[]) => {
    await api.log.append(
      events.map((event) => ({ topic: catalogue[event.type].topic, key: event.stream, value: encode(event) })),
    );
    await projected();
  };

  /** One event of every type, in a world of its own, and what is said of the same fact: as it was, measured otherwise, and otherwise. */
  async function givenTypes(world: string): Promise<readonly Given[]> {
    const every = everyEvent();
    return Promise.all(
      TYPES.map(async (type) => {
        const own = `${world} ${type}`;
        for (const payload of payloadsOf(own)) await api.blobs.put(payload, 'text/plain');
        const isSent = ruleOfPlatform(type) === undefined;
        const first = every
          .filter((event) => event.type === type)
          .map((event) => inWorld(event, own))
          .find((event) => !isSent || fits(event));
        if (!first) throw new Error(`no ${type} among every event may be sent`);
        const paths = pathsIn(first.data);
        const ways = [otherThan, otherId].flatMap((other) => paths.map((path) => ({ path, other })));
        const varied = ways.flatMap(({ path, other }) => {
          const event = withValue(first, path, other);
          return event && event.stream === first.stream && factOf(event) === factOf(first) && (!isSent || fits(event))
            ? [event]
            : [];
        });
        const other = varied.find((event) => contentHash(event) !== contentHash(first));
        if (!other) throw new Error(`nothing else can be said by a ${type}`);
        const same = varied.find((event) => contentHash(event) === contentHash(first)) ?? first;
        const field = entityOf(first)?.field;
        return { type, isSent, first, same, other, fact: field === undefined ? null : `data.${field}` };
      }),
    );
  }

  test('of every type a second fact that says something else is refused (409): in one request, by the server that took the first, and by another', async () => {
    const sent = (await givenTypes(newId())).filter(({ isSent }) => isSent);
    const seconds = sent.flatMap(({ first, other, fact }) => [
      { first, second: other, path: 'id' },
      ...(fact === null ? [] : [{ first, second: { ...other, id: newId() }, path: fact }]),
    ]);
    for (const { first, second, path } of seconds)
      await refused(api, () => api.post([first, second]), 409, { path, index: 1, id: second.id });
    expect(await api.post(sent.map(({ first }) => first))).toMatchObject({ status: 200, body: { appended: sent.length } });
    for (const url of [api.server.url, (await api.serve()).url]) {
      for (const { first, second, path } of seconds) {
        const message = expect.stringContaining(`event ${first.id} on record`);
        await refused(api, () => api.post([second], {}, url), 409, { path, index: 0, id: second.id, message });
      }
      await projected();
    }
  });

  test('of every type a second event that says the same is a repetition, also measured otherwise: it is accepted, and not appended behind what is on record', async () => {
    const sent = (await givenTypes(newId())).filter(({ isSent }) => isSent);
    const again = sent.flatMap(({ same, fact }) => (fact === null ? [same] : [same, { ...same, id: newId() }]));
    const facts = sent.filter(({ fact }) => fact !== null);
    const inOne = [...sent.map(({ first }) => first), ...facts.map(({ same }) => ({ ...same, id: newId() }))];
    expect(await api.post(inOne)).toMatchObject({ body: { appended: inOne.length, duplicates: 0 } }); // the journal notes them
    await projected();
    const duplicates = { status: 200, body: { accepted: again.length, appended: 0, duplicates: again.length } };
    for (const url of [api.server.url, (await api.serve()).url]) expect(await api.post(again, {}, url)).toMatchObject(duplicates);
  });

  test('of every type the journal quarantines a second fact of the log that says something else, with the reason, and notes one that says the same', async () => {
    const given = await givenTypes(newId());
    const known = new Map(given.map((one) => [one.first.stream, one]));
    const facts = given.filter(({ fact }) => fact !== null);
    await append(given.map(({ first }) => first));
    await append(given.flatMap(({ other, same }) => [other, same]));
    await append(facts.flatMap(({ other, same }) => [other, same].map((event) => ({ ...event, id: newId() }))));
    const stream = [...known.keys()];
    const waiting = await rowsWhere(api.database.db, 'quarantine', { stream, projection: 'journal' }, [
      ...(['stream', 'code', 'field', 'reason'] as const),
    ]);
    const told = (of: string | null, { code, field, reason }: (typeof waiting)[number]) =>
      code === 'conflict' &&
      field === (of ?? 'id') &&
      reason.includes(of === null ? 'under this id before' : 'has other content in event');
    for (const { type, first, fact } of given) {
      const own = waiting.filter((row) => row.stream === first.stream);
      const reasons = fact === null ? [null] : [null, fact];
      expect({ type, refused: reasons.map((of) => own.filter((row) => told(of, row)).length), count: own.length }).toEqual({
        ...{ type, refused: reasons.map(() => 1) },
        count: reasons.length,
      });
    }
    const noted = await rowsWhere(api.database.db, 'anomalies', { stream, kind: 'duplicate' }, ['stream']);
    for (const { type, first, fact } of given) {
      const due = (type === 'SegmentRendered' ? 0 : 1) + (fact === null ? 0 : 1); // two that draw one segment both record it
      expect({ type, noted: noted.filter((row) => row.stream === first.stream).length }).toEqual({ type, noted: due });
    }
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
      const step = events[at] as Envelope<'StepTaken'>;
      const { position = '' } = (await late.post(events.slice(0, at))).body;
      await late.projected(position);
      await projecting.close();
      const other = { ...step, id: newId(), data: { ...step.data, action: 'other' } };
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
