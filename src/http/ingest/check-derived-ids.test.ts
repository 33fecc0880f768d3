import { expect, test } from '@jest/globals';
import { derivedId } from '../../events/derived-id.ts';
import type { Envelope } from '../../events/envelope.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { underivableIds } from './check-derived-ids.ts';

const RUN = '3c8f1d1e-8b1a-4f51-9d0e-7f1f4a3b2c1d'; // drawn, as a key's own
const KEY = { principal: 'key:1', project: 'default' };

/** A run with a tree under the id that a collector derives. */
function derived(): readonly Envelope[] {
  const builder = new EventBuilder('derived');
  builder.run('own', { runId: RUN });
  builder.tree(RUN, 'a', { treeId: derivedId('tree', RUN, 3, 'a') });
  return builder.events;
}

const problemsOf = (events: readonly Envelope[], stamp = KEY) =>
  underivableIds(
    events.map((event, index) => ({ index, event })),
    stamp,
  );

test('ids that follow from the data of their events are accepted from a key', () => {
  expect(problemsOf(derived())).toEqual([]);
});

test('a derived id that belongs to something else is refused from a key, by its field and with the remedy', () => {
  const foreign = derivedId('tree', '11111111-1111-4111-8111-111111111111', 0, 'a'); // of a run that is not in the event
  const event = derived().find(({ type }) => type === 'TreeOpened');
  if (!event) throw new Error('a tree was opened');
  const forged = { ...event, data: { ...event.data, treeId: foreign } } as Envelope;
  expect(problemsOf([forged])).toEqual([
    {
      index: 0,
      id: event.id,
      path: 'data.treeId',
      message: 'is a UUID of version 8, the form of derived ids, and does not follow from the data of the event',
      remedy: expect.stringMatching(/^draw a random UUID \(version 4 or 7\) and keep it for repetitions, or derive it from /),
    },
  ]);
});

test('a run and an experiment have no derivation that a key could name', () => {
  const builder = new EventBuilder('named');
  builder.run('forged', { runId: derivedId('train run', 'policy', 3) });
  expect(problemsOf(builder.events)).toMatchObject([{ index: 0, path: 'data.runId' }]);
});

test('a replay has no derivation that a key could name', () => {
  const [start] = derived();
  if (!start) throw new Error('a run begins the record');
  const replay = (replayId: string) => ({ ...start, type: 'ReplayFinished', data: { replayId } }) as unknown as Envelope; // the field that is read
  expect(problemsOf([replay(derivedId('fork', RUN))])).toMatchObject([{ path: 'data.replayId' }]);
  expect(problemsOf([replay(RUN)])).toEqual([]);
});

test('a judge takes no derived id for a judgement or a revision: a step that is not taken yet may have it', () => {
  const [start] = derived();
  if (!start) throw new Error('a run begins the record');
  const event = (type: string, data: object) => ({ ...start, type, data }) as unknown as Envelope; // the fields that are read
  const taken = derivedId('step', RUN, 1);
  expect(problemsOf([event('PromptShown', { judgementId: taken })])).toMatchObject([{ path: 'data.judgementId' }]);
  expect(problemsOf([event('RevisionComposed', { revisionId: taken })])).toMatchObject([{ path: 'data.revisionId' }]);
  expect(problemsOf([event('PromptShown', { stepId: taken }), event('PromptShown', { judgementId: RUN })])).toEqual([]);
});

/** The openings of so many trees of one run, by the ids of their tasks. */
function openings(tasks: readonly number[]): readonly Envelope[] {
  const builder = new EventBuilder('openings');
  for (const task of tasks) {
    const treeId = derivedId('tree', RUN, task, 'a');
    builder.tree(RUN, 'a', { treeId, rootStepId: derivedId('root', treeId) });
  }
  return builder.events;
}

test('trees in the order of their tasks are accepted, any number of them', () => {
  expect(problemsOf(openings(Array.from({ length: 4_000 }, (_, i) => i)))).toEqual([]);
});

test('trees of many tasks, each the first of its task, are accepted, and so is a second one of each', () => {
  const builder = new EventBuilder('many tasks');
  for (const occurrence of [0, 1])
    for (let i = 0; i < 100; i++) {
      const treeId = derivedId('tree', RUN, occurrence, `task ${i}`);
      builder.tree(RUN, `task ${i}`, { treeId, rootStepId: derivedId('root', treeId) });
    }
  expect(problemsOf(builder.events)).toEqual([]);
});

test('a request that would have thousands of ordinals tried for every event is refused with the remedy', () => {
  const [problem] = problemsOf(openings(Array(4_000).fill(4_095)));
  expect(problem).toMatchObject({
    path: 'data.treeId',
    message: 'could not be looked for: over 20000 ordinals were tried for this request',
    remedy: expect.stringContaining('in the order of their tasks'),
  });
});

test('random ids are accepted from a key, and any id from the programs of the installation', () => {
  const [started, opened] = derived();
  if (opened?.type !== 'TreeOpened' || !started) throw new Error('a run and a tree begin the record');
  const random = { ...opened.data, treeId: '0190c2de-5f00-7000-8000-00000000000a', rootStepId: RUN };
  expect(problemsOf([started, { ...opened, data: random }])).toEqual([]);
  const forged = { ...opened, data: { ...opened.data, treeId: derivedId('tree', 'other', 0, 'a') } };
  expect(problemsOf([forged], { principal: 'local', project: 'default' })).toEqual([]);
});
