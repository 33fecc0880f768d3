import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { ReplayRefused } from '../replay/replay-environment.ts';
import { Comparison } from '../replay/replay-report.ts';
import { comparePairs, type ThresholdOptions } from './replay-scores-thresholds.ts';

const database = useTestDatabase({ emptied: 'before-each' });

/** A tree of four trajectories, worth 1, 0.6, 0.3 and 0, that part at the root. */
function recorded() {
  const builder = new EventBuilder('thresholds');
  const runId = builder.run();
  const tree = builder.tree(runId);
  const leaf = (value: number, ordinal: number) => {
    const rolloutId = builder.rollout(tree, ordinal);
    const step = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: `Action: ${ordinal}`, termination: 'terminated' });
    builder.reward(tree, step, value, { rolloutId });
    builder.finishRollout(tree, rolloutId, step, { steps: 1, success: value === 1 });
    return step;
  };
  const [best, good, poor, worst] = [1, 0.6, 0.3, 0].map(leaf) as [string, string, string, string];
  const mine = (goodLeafStepId: string, badLeafStepId: string, thresholds: { alpha: number; beta: number }) => {
    const revisionId = builder.id('revision', goodLeafStepId, badLeafStepId);
    const judge = { name: 'planner', revision: '1' };
    const places = { branchStepId: tree.rootStepId, transitionStepId: badLeafStepId, transitionCause: 'bad' as const, judged: 1 };
    const about = { revisionId, treeId: tree.treeId, goodLeafStepId, badLeafStepId, judge, contentHash: 'c'.repeat(64) };
    builder.record('RevisionComposed', { ...about, ...places, ...thresholds, reflection: 'No.', signal: 'thought' }, runId);
    builder.record('RevisionVerified', { revisionId, treeId: tree.treeId, reached: 0.6, threshold: thresholds.alpha }, runId);
    const recorded = { treeId: tree.treeId, leafStepId: badLeafStepId, stepId: badLeafStepId, index: 0, judge };
    builder.record('StepJudged', { ...recorded, promptHash: 'a'.repeat(64), verdict: 'bad', reply: '' }, runId);
  };
  return { builder, runId, best, good, poor, worst, mine };
}

async function compared(runId: string, overrides: Partial<ThresholdOptions>) {
  const comparison = new Comparison('scores');
  const resolve = async (): Promise<string> => {
    throw new Error('nothing lies in the blob store');
  };
  const { signal } = new AbortController();
  await comparePairs({ db: database.db, runId, asked: { alpha: null, beta: null, ...overrides }, resolve, signal }, comparison);
  return comparison.report();
}

test('a higher alpha accepts fewer good trajectories, and names the pairs and revisions that it would not mine', async () => {
  const { builder, runId, good, poor, worst, mine } = recorded();
  mine(good, poor, { alpha: 0.5, beta: 0.2 });
  await givenEvents(database.db, builder.events);
  const { outcome, differences, notes, ...counts } = await compared(runId, { alpha: 0.7 });
  expect({ outcome, ...counts }).toMatchObject({ outcome: 'differs', compared: 2 + 5, differing: 1 + 2 });
  expect(differences).toEqual([
    { eventId: null, stepId: good, field: 'trajectory to this leaf', recorded: 'good', replayed: 'not good' },
    ...[poor, worst].map((stepId) => ({
      eventId: null,
      stepId,
      field: `with the good trajectory to ${good}`,
      recorded: 'a pair',
      replayed: 'no pair',
    })),
  ]);
  expect(notes).toEqual([
    '1 of 1 trees change from α 0.5, β 0.2 (by which it was mined) to α 0.7, β 0.2',
    expect.stringMatching(
      /good 2 → 1, pairs 5 → 3; 1 of its 1 revisions \(1 verified\) would not be mined; bad trajectories that nobody judged: 2$/,
    ),
  ]);
});

test('a lower beta finds more pairs and a wider one fewer, and the same thresholds are equal', async () => {
  const { builder, runId, best, good, worst, mine } = recorded();
  mine(best, worst, { alpha: 0.5, beta: 0.5 }); // pairs: best with poor and worst, good with worst
  await givenEvents(database.db, builder.events);
  expect(await compared(runId, {})).toMatchObject({ outcome: 'equal', compared: 2 + 3, differing: 0 });
  const narrower = await compared(runId, { beta: 0.35 });
  expect(narrower).toMatchObject({ outcome: 'differs', compared: 2 + 4, differing: 1 });
  expect(narrower.differences).toMatchObject([{ stepId: good, recorded: 'no pair', replayed: 'a pair' }]);
  expect(await compared(runId, { beta: 0.65 })).toMatchObject({ outcome: 'differs', differing: 1 });
});

test('a run without mined revisions is compared with the defaults', async () => {
  const { builder, runId } = recorded();
  await givenEvents(database.db, builder.events);
  const { outcome, notes } = await compared(runId, { alpha: 0.5, beta: 0.2 });
  expect(outcome).toBe('equal');
  expect(notes[0]).toContain('the defaults: nothing was mined from it');
});

test('a revision whose rewards were judged again later is reported as unpaired, not as a difference of thresholds', async () => {
  const { builder, runId, good, poor, mine } = recorded();
  mine(poor, good, { alpha: 0.5, beta: 0.2 });
  await givenEvents(database.db, builder.events);
  const { outcome, notes } = await compared(runId, {});
  expect(outcome).toBe('equal');
  expect(notes[1]).toMatch(/^1 recorded revisions are of no pair any more/);
});

test('thresholds outside the rewards of 0..1 are refused', async () => {
  const { builder, runId } = recorded();
  await givenEvents(database.db, builder.events);
  await expect(compared(runId, { alpha: 0 })).rejects.toThrow(ReplayRefused);
  await expect(compared(runId, { beta: 20 })).rejects.toThrow('beta is 20; rewards are normalised, so it must be from 0 to 1');
});
