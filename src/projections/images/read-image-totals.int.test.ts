import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { recordDrawnHistories } from '../../testing/record-drawn-histories.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { type AGGREGATE_BY, type AggregateFilter, aggregate } from '../analysis/aggregate.ts';
import { countDifferingImages, readImageTotalsOfRuns } from './read-image-totals.ts';

const database = useTestDatabase({ emptied: 'before-each' });
const RECORDS = ['[Observation]: a hall [Action]: look', '[Observation]: a desk [Action]: take mug 1'];
const POLICY = { policyId: 'p', version: 0 };

/**
 * Trees of one version and of two, one that is open, one with an image of a step that is not on record and a step that was shown
 * none, and one with a step that no rollout took.
 */
function record() {
  const builder = new EventBuilder('summed images');
  const run = builder.run('summed images');
  for (const name of ['one', 'two', 'open', 'partly', 'searched']) {
    const tree = builder.tree(run, name);
    const steps: string[] = [];
    for (const ordinal of [0, 1]) {
      const version = name === 'two' ? ordinal : name.length % 2;
      const rolloutId = builder.rollout(tree, ordinal, { policy: { ...POLICY, version } });
      const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1);
      steps.push(leaf, builder.step(tree, rolloutId, leaf, 2));
      builder.finishRollout(tree, rolloutId, leaf, { success: ordinal === 0 });
    }
    if (name === 'searched') steps.push(builder.step(tree, null, tree.rootStepId, 1));
    const shown = name === 'partly' ? [...steps.slice(1), builder.id('a step that is not on record')] : steps;
    recordDrawnHistories(builder, tree, shown, { records: RECORDS, factors: [1, 1.2, 1.5, 1.1] });
    if (name !== 'open') builder.closeTree(tree, 2);
  }
  return { builder, run };
}

interface Shown {
  readonly key: string;
  readonly visionTokens: number;
  readonly factor: number;
  readonly imageId: string;
}

/** What is shown in the groups of a version and of a tree's task, row by row. */
async function shownBy(column: string, where: string): Promise<readonly Shown[]> {
  const policy = column.startsWith('o.') || where.includes('o.');
  const { rows } = await sql<Shown>`
    select ${sql.raw(column)}::text as key, h.vision_tokens, h.factor, h.image_id from history_images h join trees t using (tree_id)
    ${sql.raw(policy ? 'join steps s on s.step_id = h.step_id join rollouts o on o.rollout_id = s.rollout_id' : '')}
    where ${sql.raw(where)}`.execute(database.db);
  return rows;
}

function groupsOf(shown: readonly Shown[]) {
  return [...new Set(shown.map(({ key }) => key))].sort().map((key) => {
    const of = shown.filter((each) => each.key === key);
    return {
      key,
      steps: of.length,
      visionTokens: of.reduce((sum, { visionTokens }) => sum + visionTokens, 0),
      meanFactor: expect.closeTo(of.reduce((sum, { factor }) => sum + factor, 0) / of.length, 12),
      images: new Set(of.map(({ imageId }) => imageId)).size,
    };
  });
}

async function summed(run: string, by: (typeof AGGREGATE_BY)[number], filter: AggregateFilter = {}) {
  const groups = await aggregate(database.db, by, { runIds: [run], ...filter }, new Set(['images', 'differing']));
  return groups
    .map(({ runId, taskId, policyVersion, images: { steps, visionTokens, meanFactor, images } }) => {
      return { key: String(policyVersion ?? taskId ?? runId), steps, visionTokens, meanFactor, images };
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

async function expectAll(run: string): Promise<void> {
  expect(await summed(run, 'POLICY_VERSION')).toEqual(groupsOf(await shownBy('o.policy_version', 'true')));
  expect(await summed(run, 'TASK')).toEqual(groupsOf(await shownBy('t.task_id', 'true')));
  expect(await summed(run, 'RUN')).toEqual(groupsOf(await shownBy('t.run_id', 'true')));
  for (const policyVersion of [0, 1]) {
    const filter = { policyId: 'p', policyVersion };
    const where = `o.policy_version = ${policyVersion}`;
    expect(await summed(run, 'RUN', filter)).toEqual(groupsOf(await shownBy('t.run_id', where)));
    expect(await summed(run, 'TASK', filter)).toEqual(groupsOf(await shownBy('t.task_id', where)));
  }
  const many = Array.from({ length: 5 }, (_, i) => new EventBuilder(`none ${i}`).id('run'));
  expect(await summed(run, 'POLICY_VERSION', { runIds: [run, ...many] })).toEqual(await summed(run, 'POLICY_VERSION'));
  const [whole] = groupsOf(await shownBy('t.run_id', 'true'));
  const [{ steps, visionTokens, meanFactor } = {}] = await readImageTotalsOfRuns(database.db, [run]);
  const [{ images } = {}] = await countDifferingImages(database.db, [run]);
  expect({ key: run, steps, visionTokens, meanFactor, images }).toEqual(whole);
}

test('sums of images by version, task and run are those of a count row by row', async () => {
  const { builder, run } = record();
  await givenEvents(database.db, builder.events);
  await expectAll(run);
});
