import { expect, test } from '@jest/globals';
import type { Envelope } from '../../events/envelope.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendRequeue, appendTo, projectSlice, type TestLog, testLog } from '../../testing/given-events.ts';
import { foldedState } from '../../testing/partitions.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { projections } from '../registry.ts';

const FOLDED = projections.filter(({ name }) => ['journal', 'step-tree'].includes(name));
const database = useTestDatabase({ emptied: 'before-each' });

/** A tree with a step, that step once more under another event id, and another step under that same id. */
function givenThirdUnderOneId(changes: object): { readonly builder: EventBuilder; readonly log: TestLog } {
  const builder = new EventBuilder();
  const tree = builder.tree(builder.run());
  const rolloutId = builder.rollout(tree, 0);
  builder.step(tree, rolloutId, tree.rootStepId, 1);
  const first = builder.events.at(-1) as Envelope<'StepTaken'>; // just recorded
  const id = builder.id('used twice');
  const second = { ...first, id, data: { ...first.data, ...changes } };
  const third = { ...first, id, data: { ...first.data, stepId: builder.id('another step'), action: 'another' } };
  const log = testLog();
  appendTo(log, [...builder.events, second, third]);
  return { builder, log };
}

test.each([
  { what: 'a repetition of a fact', changes: {}, waiting: 1, steps: 2 },
  { what: 'a conflict with a fact', changes: { action: 'other' }, waiting: 1, steps: 3 },
])('another fact under the id of $what is treated alike, however batches are cut', async ({ changes, waiting, steps }) => {
  const { log } = givenThirdUnderOneId(changes);
  const { db } = database;
  const end = log.topics.get('trees')?.length ?? 0;
  const states: unknown[] = [];
  for (let cut = 1; cut < end; cut++) {
    await emptyReadModels(db);
    await projectSlice(db, log, 'trees', 0, cut, FOLDED);
    await projectSlice(db, log, 'trees', cut, end, FOLDED);
    states.push(await foldedState(db));
    expect(await db.selectFrom('steps').select('stepId').execute()).toHaveLength(steps);
    expect(await db.selectFrom('quarantine').selectAll().execute()).toHaveLength(waiting);
  }
  for (const state of states) expect(state).toEqual(states[0]);
});

test('a requeued record is the first one of its id for those behind it, however batches are cut', async () => {
  const { builder, log } = givenThirdUnderOneId({});
  const { db } = database;
  const refusedAt = (log.topics.get('trees')?.length ?? 0) - 1;
  appendRequeue(log, 'trees', refusedAt);
  const third = builder.events.at(-1) as Envelope;
  appendTo(log, [{ ...third, id: builder.id('used twice') }]);
  const end = log.topics.get('trees')?.length ?? 0;
  const states: unknown[] = [];
  for (let cut = 1; cut < end; cut++) {
    await emptyReadModels(db);
    await projectSlice(db, log, 'trees', 0, cut, FOLDED);
    await projectSlice(db, log, 'trees', cut, end, FOLDED);
    states.push(await foldedState(db));
  }
  for (const state of states) expect(state).toEqual(states[0]);
});
