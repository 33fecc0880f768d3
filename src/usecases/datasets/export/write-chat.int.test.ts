import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';

const shop = datasetWorkshop();

test('xtuner and trl train on exactly the replies that the chats weigh, a shared prefix under either rule', async () => {
  const builder = new EventBuilder('chat');
  const tree = builder.tree(builder.run());
  const first = builder.walk(tree, 0, 3, 1);
  const fork = builder.rollout(tree, 1, { fromStepId: first.steps[0] ?? '' });
  const leaf = builder.step(tree, fork, first.steps[0] ?? '', 2, { response: 'Action: other', termination: 'terminated' });
  builder.finishRollout(tree, fork, leaf);
  await givenEvents(shop.db, builder.events);
  for (const weights of ['own', 'policy'] as const) {
    const chats = await rows<{ messages: { content: string; weight?: number }[] }>({ kind: 'openai', weights, metadata: 'omit' });
    const weighed = chats.map(({ messages }) => messages.filter(({ weight }) => weight === 1).map(({ content }) => content));
    expect(weighed.map((replies) => replies.length)).toEqual(weights === 'own' ? [3, 1] : [3, 2]);

    const turns = await rows<{ conversation: { output: string; output_with_loss?: false }[] }>({
      kind: 'xtuner',
      weights,
      metadata: 'omit',
    });
    const recorded = turns.map(({ conversation }) => conversation.filter((turn) => turn.output_with_loss !== false));
    expect(recorded.map((trained) => trained.map(({ output }) => output))).toEqual(weighed);

    const lines = await rows<{ prompt: unknown[]; completion: { content: string }[]; metadata: { trajectory: string } }>({
      kind: 'trl',
      weights,
      metadata: 'include',
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
