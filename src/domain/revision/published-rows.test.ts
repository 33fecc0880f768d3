import { expect, test } from '@jest/globals';
import type { ChatMessage } from '../history/prompt.ts';
import { leafPaths } from './pair-paths.ts';
import { goodRow, pairRow } from './published-rows.ts';
import { plant } from './revision-testing.ts';
import { spliceAsPublished } from './splice.ts';
import { toXtuner } from './xtuner.ts';

const opening: ChatMessage[] = [{ role: 'user', content: 'TASK' }];
const [good, bad] = leafPaths(
  plant([
    { words: 'g', shared: 0, score: 1 },
    { words: 'b', shared: 0, score: 0 },
  ]),
).map(({ steps }) => steps);
const losses = (messages: readonly { readonly loss?: boolean }[]) => messages.map(({ loss }) => loss);

test('a failed trajectory is trained on as published, and masked in sound mode', () => {
  const given = {
    taskNum: '7',
    opening,
    turns: spliceAsPublished(bad ?? [], good ?? [], 'R'),
    good: good ?? [],
    bad: bad ?? [],
    feedback: null,
  };
  expect(losses(pairRow({ ...given, lowLog: 'trained' }).low_log)).toEqual([undefined, true, undefined]);
  const row = pairRow({ ...given, lowLog: 'masked' });
  expect(losses(row.low_log)).toEqual([undefined, false, undefined]);
  expect(losses(row.high_log)).toEqual([undefined, true, undefined]);
  expect(losses(row.revise_log)).toEqual([undefined, false, undefined, true, undefined, true, undefined]);
  expect(row).toMatchObject({ task_num: '7', task_description: 'TASK', revise: false, revise_feedback: '' });
});

test('a good row trains on every reply after the first observation', () => {
  expect(goodRow('7', opening, good ?? [], true)).toEqual({
    task_num: '7',
    revise_log: [
      { role: 'user', content: 'TASK' },
      { role: 'assistant', content: 'Thought: think g\nAction: act g', loss: true },
      { role: 'user', content: 'obs g' },
    ],
    revise: true,
  });
});

test('an xtuner conversation without a system text has none, and a reply without a prompt is refused', () => {
  const messages = goodRow('7', opening, good ?? [], true).revise_log;
  expect(toXtuner(messages, 'keep')).toEqual({
    conversation: [{ input: 'TASK', output: 'Thought: think g\nAction: act g', output_with_loss: true }],
  });
  expect(() => toXtuner([{ role: 'assistant', content: 'x' }], 'keep')).toThrow(RangeError);
});
