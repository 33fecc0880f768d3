import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { Story } from '../../../testing/story.ts';

const shop = datasetWorkshop();

test('xtuner and trl train on exactly the replies that the chats weigh, a shared prefix under either rule', async () => {
  const story = new Story('chat');
  const tree = story.tree(story.run());
  const first = story.walk(tree, 0, 3, 1);
  const fork = story.rollout(tree, 1, { fromStepId: first.steps[0] ?? '' });
  const leaf = story.step(tree, fork, first.steps[0] ?? '', 2, { response: 'Action: other', termination: 'terminated' });
  story.finishRollout(tree, fork, leaf);
  await givenEvents(shop.db, story.events);
  for (const weights of ['own', 'policy'] as const) {
    const chats = await rows<{ messages: { content: string; weight?: number }[] }>({ kind: 'openai', weights, metadata: 'omit' });
    const weighed = chats.map(({ messages }) => messages.filter(({ weight }) => weight === 1).map(({ content }) => content));
    expect(weighed.map((replies) => replies.length)).toEqual(weights === 'own' ? [3, 1] : [3, 2]);

    const turns = await rows<{ conversation: { output: string; output_with_loss?: false }[] }>({
      kind: 'xtuner',
      weights,
      metadata: 'omit',
    });
    const told = turns.map(({ conversation }) => conversation.filter((turn) => turn.output_with_loss !== false));
    expect(told.map((trained) => trained.map(({ output }) => output))).toEqual(weighed);

    const lines = await rows<{ prompt: unknown[]; completion: { content: string }[]; metadata: { trajectory: string } }>({
      ...{ kind: 'trl', weights, metadata: 'include' },
    });
    expect(lines.map(({ completion }) => completion.map(({ content }) => content))).toEqual(
      weighed.flat().map((reply) => [reply]),
    );
    expect(new Set(lines.map(({ metadata }) => metadata.trajectory))).toEqual(new Set([first.rolloutId, fork]));
    expect(lines[0]?.prompt).toEqual([
      { role: 'system', content: 'Craft what is asked.' },
      { role: 'user', content: 'Goal: craft tree.' },
    ]);
  }

  async function rows<Row>(format: Parameters<typeof shop.exportTo>[1]): Promise<readonly Row[]> {
    const text = await readFile(await shop.exportTo('out', format), 'utf8');
    return text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  }
});
