import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { areFlattened, unflattened } from './flattened-message.ts';
import type { PolicyMessage } from './policy-prompt.ts';
import { textMessage } from './same-message.ts';

const call = fc.record({ id: fc.string({ minLength: 1 }), name: fc.string(), arguments: fc.oneof(fc.json(), fc.string()) });
const written = (calls: readonly object[]) => JSON.stringify({ tool_calls: calls });
const answered = (id: string) => JSON.stringify({ tool_call_id: id });

test('a call and its result that an earlier capture wrote behind their texts are read back, whatever they hold', () => {
  fc.assert(
    fc.property(fc.array(call, { minLength: 1, maxLength: 3 }), fc.string(), fc.string(), (calls, said, result) => {
      const [first] = calls;
      const texts = (text: string, flat: string) => [
        ...(text === '' ? [] : [{ kind: 'text' as const, text }]),
        { kind: 'text' as const, text: flat },
      ];
      const messages: PolicyMessage[] = [
        { role: 'assistant', parts: texts(said, written(calls)) },
        { role: 'tool', parts: texts(result, answered(first?.id ?? '')) },
      ];
      expect(areFlattened(messages)).toBe(true);
      expect(messages.map(unflattened)).toEqual([
        {
          role: 'assistant',
          parts: [...texts(said, '').slice(0, -1), ...calls.map((each) => ({ kind: 'tool-call', ...each }))],
        },
        { ...textMessage('tool', result), toolCallId: first?.id },
      ]);
    }),
  );
});

const FLAT = written([{ id: 'c1', name: 'look', arguments: '{}' }]);

test.each<[string, readonly PolicyMessage[]]>([
  ['a call that no result names', [textMessage('assistant', FLAT), textMessage('tool', 'seen')]],
  ['a result that names no call', [textMessage('assistant', 'I look.'), textMessage('tool', answered('c1'))]],
  ['a result that names another call', [textMessage('assistant', FLAT), textMessage('tool', answered('c2'))]],
  ['a call in words of a user', [textMessage('user', FLAT), textMessage('tool', answered('c1'))]],
  [
    'a call with further fields',
    [
      textMessage('assistant', written([{ id: 'c1', name: 'look', arguments: '{}', type: 'f' }])),
      textMessage('tool', answered('c1')),
    ],
  ],
  ['a call before other text', [textMessage('assistant', `${FLAT} as told`), textMessage('tool', answered('c1'))]],
])('%s is no record of an earlier capture', (_, messages) => {
  expect(areFlattened(messages)).toBe(false);
});

test('the response of a step and the message of a prompt that hold one reply are read as one message', () => {
  const asked: PolicyMessage = {
    role: 'assistant',
    parts: [
      { kind: 'text', text: 'I look.' },
      { kind: 'text', text: FLAT },
    ],
  };
  expect(unflattened(textMessage('assistant', `I look.\n${FLAT}`))).toEqual(unflattened(asked));
});
