import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { textMessage } from '../../../domain/prompts/same-message.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { recordMessages } from '../../../testing/record-messages.ts';
import type { ExportFormat } from './formats.ts';

const shop = datasetWorkshop();

/** An episode whose first reply is followed by an empty observation; `said` is what its second prompt holds for it. */
async function recorded(said: 'empty message' | 'nothing'): Promise<string> {
  const builder = new EventBuilder('empty');
  const tree = builder.tree(builder.run());
  const rollout = builder.rollout(tree, 0);
  const first = builder.step(tree, rollout, tree.rootStepId, 1, { response: 'a0', observation: '' });
  const leaf = builder.step(tree, rollout, first, 2, { response: 'a1', observation: '', termination: 'terminated' });
  const opening = [textMessage('user', 'Goal: craft tree.')];
  const behind = said === 'nothing' ? [] : [textMessage('user', '')];
  recordMessages(builder, tree, first, opening);
  recordMessages(builder, tree, leaf, [...opening, textMessage('assistant', 'a0'), ...behind]);
  builder.finishRollout(tree, rollout, leaf, { steps: 2 });
  builder.closeTree(tree, 1);
  await givenEvents(shop.db, builder.events);
  return rollout;
}

const openai: ExportFormat = { kind: 'openai', weights: 'own', metadata: 'include' };
const sharegpt: ExportFormat = { kind: 'sharegpt', weights: 'own' };
const xtuner: ExportFormat = { kind: 'xtuner', weights: 'own', metadata: 'omit' };

test.each<[string, ExportFormat]>([
  ['openai', openai],
  ['sharegpt', sharegpt],
])('an empty observation is an empty message of the user in %s, which an import reads back', async (_, format) => {
  await recorded('empty message');
  const before = JSON.parse(await readFile(await shop.exportTo('before', format), 'utf8'));
  await shop.startAgain();
  expect(await shop.importing({ source: shop.path('before') })).toMatchObject({ rollouts: 1, steps: 2, notes: [] });
  const after = JSON.parse(await readFile(await shop.exportTo('after', format), 'utf8'));
  expect(after.messages ?? after.conversations).toEqual(before.messages ?? before.conversations);
});

test('an empty observation is the input of a turn of xtuner', async () => {
  await recorded('empty message');
  const row = JSON.parse(await readFile(await shop.exportTo('out', xtuner), 'utf8'));
  expect(row.conversation.map(({ input, output }: { input: string; output: string }) => [input, output])).toEqual([
    ['Goal: craft tree.', 'a0'],
    ['', 'a1'],
  ]);
});

test('xtuner refuses a recorded prompt in which a reply follows a reply, with the trajectory and what takes it', async () => {
  const rollout = await recorded('nothing');
  await expect(shop.exportTo('out', xtuner)).rejects.toMatchObject({
    code: 'no-turn',
    message: `trajectory ${rollout}: message 2 of its prompt is a reply that follows no message of the user, and xtuner has turns of a message and its reply alone; export --format openai or trl, or leave the run out by a filter`,
  });
});
