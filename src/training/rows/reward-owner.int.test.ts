import { expect, test } from '@jest/globals';
import type { Envelope } from '../../events/envelope.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { MemoryBlobs } from '../../testing/memory-blobs.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { recordBatch, recordLineage } from '../../testing/record-training.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { stepRowsOf } from '../backends/step-row.ts';
import { readBatchRows } from './read-batch-rows.ts';

const database = useTestDatabase({ emptied: 'before-each' });

const POLICY = 'p';

/**
 * Two rollouts of one step; each has a reward of its own, and the one of 8 names the step of the first and the second rollout.
 */
function crossed() {
  const builder = new EventBuilder('crossed');
  recordLineage(builder, POLICY);
  const runId = builder.run('run', { config: { training: { policyId: POLICY, channel: 'train' } } });
  const tree = builder.tree(runId, 'tree', { plannedRollouts: 2 });
  const walked = [0, 1].map((ordinal) => {
    const rolloutId = builder.rollout(tree, ordinal);
    const stepId = builder.step(tree, rolloutId, tree.rootStepId, 1, { termination: 'terminated' });
    return { rolloutId, stepId };
  });
  const [first, second] = walked;
  if (!first || !second) throw new Error('two rollouts are recorded');
  builder.reward(tree, first.stepId, 8, { rolloutId: second.rolloutId });
  for (const [i, { rolloutId, stepId }] of walked.entries()) {
    builder.reward(tree, stepId, 1 + i, { rolloutId });
    builder.reward(tree, stepId, 0.5);
    builder.reward(tree, null, 0.25, { rolloutId });
    builder.finishRollout(tree, rolloutId, stepId);
  }
  builder.closeTree(tree, 2);
  const rolloutIds = walked.map(({ rolloutId }) => rolloutId);
  const { batchId } = recordBatch(builder, POLICY, [{ treeId: tree.treeId, rolloutIds }]);
  return { events: builder.events, rolloutIds, batchId, crossedStep: first.stepId };
}

async function scoresOf(rolloutIds: readonly string[]): Promise<unknown[]> {
  const rows = await database.db.selectFrom('samples').select(['rolloutId', 'scores']).execute();
  return rolloutIds.map((id) => rows.find((row) => row.rolloutId === id)?.scores);
}

test('a reward that names the step of one rollout and another rollout counts for neither, in the pool and in rows of any position', async () => {
  const { events, rolloutIds, batchId } = crossed();
  await givenEvents(database.db, events);
  expect(await scoresOf(rolloutIds)).toEqual([{ environment: 1.75 }, { environment: 2.75 }]);
  for (const at of ['now', new Map([['trees', new Map([[0, 1_000]])]])] as const) {
    const rows = stepRowsOf(await readBatchRows(database.db, new MemoryBlobs(), batchId, at));
    expect(rows.map(({ rolloutId, reward }) => [rolloutId, reward])).toEqual([
      [rolloutIds[0], 1.75],
      [rolloutIds[1], 2.75],
    ]);
  }
});

test('a contradictory reward counts for neither rollout in any cut of the events, also before the step', async () => {
  const { events, rolloutIds, crossedStep } = crossed();
  const isStep = (event: Envelope) => event.type === 'StepTaken' && event.data.stepId === crossedStep;
  const stepLast = [...events.filter((event) => !isStep(event)), ...events.filter(isStep)];
  for (const order of [events, stepLast]) {
    await emptyReadModels(database.db);
    for (const event of order) await givenEvents(database.db, [event]);
    expect(await scoresOf(rolloutIds)).toEqual([{ environment: 1.75 }, { environment: 2.75 }]);
  }
});
