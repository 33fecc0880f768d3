import { expect, test } from '@jest/globals';
import { LostReplies, withoutContext } from './without-context.ts';

const said = (role: string, weight?: 0 | 1) => ({ role, content: 'x', ...(weight === undefined ? {} : { weight }) });

test('a row whose every reply is trained on stays as it is', () => {
  const row = { messages: [said('user'), said('assistant', 1), said('user'), said('assistant', 1)] };
  expect(withoutContext(row)).toEqual({ body: row, kept: [true, true] });
});

test('trained replies before the first one that is context stay, those behind it are lost', () => {
  const messages = [said('user'), said('assistant', 1), said('user'), said('assistant', 0), said('user'), said('assistant', 1)];
  expect(withoutContext({ messages, metadata: 1 })).toEqual({
    body: { messages: messages.slice(0, 2), metadata: 1 },
    kept: [true, false],
  });
});

test('a row that holds context alone is left out, and loses nothing', () => {
  const losing = new LostReplies();
  expect(
    losing.plain(
      [
        {
          conversations: [
            { from: 'human', loss: null },
            { from: 'gpt', loss: false },
          ],
        },
      ],
      [],
    ),
  ).toEqual([]);
  expect(losing.lost).toBeNull();
});

test('what is lost is counted in replies, sampled tokens and rows over all rows of an example', () => {
  const losing = new LostReplies();
  const rows = [
    { messages: [said('user'), said('assistant', 1)] },
    { messages: [said('user'), said('assistant', 0), said('user'), said('assistant', 1), said('user'), said('assistant', 1)] },
  ];
  expect(losing.plain(rows, [3, 5, 7])).toEqual([rows[0]]);
  expect(losing.lost).toEqual({ replies: 2, tokens: 12, rows: 1 });
});
