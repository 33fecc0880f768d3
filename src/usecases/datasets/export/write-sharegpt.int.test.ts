import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';

const shop = datasetWorkshop();
// biome-ignore lint/suspicious/noExplicitAny: rows of files, read field by field
async function exported(weights: 'policy' | 'own'): Promise<readonly any[]> {
  const file = await shop.exportTo('items', { kind: 'sharegpt', weights });
  return (await readFile(file, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('the opening is the instruction and its acknowledgement without loss, and each reply carries its loss flag', async () => {
  const recorded = new EventBuilder();
  const tree = recorded.tree(recorded.run(), 'bread');
  const one = recorded.rollout(tree, 0);
  const shared = recorded.step(tree, one, tree.rootStepId, 1, { response: 'shared', observation: 'seen' });
  recorded.finishRollout(tree, one, shared, { steps: 1 });
  const two = recorded.rollout(tree, 1, { fromStepId: shared });
  const right = recorded.step(tree, two, shared, 2, { response: 'right', observation: 'end right', termination: 'truncated' });
  recorded.reward(tree, right, -0.25, { rolloutId: two });
  recorded.finishRollout(tree, two, right, { steps: 1, outcome: 'truncated', success: false });
  await givenEvents(shop.db, recorded.events);
  const [, line] = await exported('own');
  expect(line).toMatchObject({
    item_id: 'textcraft_bread',
    conversations: [
      { from: 'human', loss: null, value: 'Craft what is asked.' },
      { from: 'gpt', loss: false, value: 'Ok.' },
      { from: 'human', loss: null, value: 'Goal: craft bread.' },
      { from: 'gpt', loss: false, value: 'shared' },
      { from: 'human', loss: null, value: 'seen' },
      { from: 'gpt', loss: true, value: 'right' },
    ],
    reward: -0.25,
    metadata: { result: 'failure' },
  });
});

test('the acknowledgement is the one recorded of the source of the run', async () => {
  const recorded = new EventBuilder();
  recorded.walk(recorded.tree(recorded.run('run', { config: { acknowledgement: 'OK. I’ll follow.' } })), 0, 1, 1);
  await givenEvents(shop.db, recorded.events);
  const [line] = await exported('policy');
  expect(line?.conversations?.[1]).toEqual({ from: 'gpt', loss: false, value: 'OK. I’ll follow.' });
});

test('an item has no null but the loss of who is not trained, whether its success is known or not, and an import has it again', async () => {
  const recorded = new EventBuilder();
  const tree = recorded.tree(recorded.run(), '7');
  for (const [ordinal, success] of [null, true, false].entries()) {
    const rollout = recorded.rollout(tree, ordinal);
    const step = recorded.step(tree, rollout, tree.rootStepId, 1, { response: `r${ordinal}`, observation: 'o' });
    recorded.finishRollout(tree, rollout, step, { steps: 1, success });
  }
  await givenEvents(shop.db, recorded.events);
  const lines = await exported('own');
  expect(lines.map(({ metadata }) => metadata.result)).toEqual(['unknown', 'success', 'failure']);
  for (const { conversations, ...others } of lines) expect(JSON.stringify(others)).not.toContain('null');
  await shop.startAgain();
  await shop.importing({ source: shop.path('items') });
  const rollouts = await shop.db.selectFrom('rollouts').select('success').orderBy('ordinal').execute();
  expect(rollouts.map(({ success }) => success)).toEqual([null, true, false]);
});
