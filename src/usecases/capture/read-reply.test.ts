import { expect, test } from '@jest/globals';
import { assemble, readReply } from './read-reply.ts';

const chat = (message: object) => ({ choices: [{ index: 0, message, finish_reason: 'stop' }] });
const called = (body: unknown) => readReply('chat.completions', body).choices[0]?.message.toolCalls;

function streamed(deltas: readonly object[]) {
  const assembler = assemble('chat.completions');
  for (const delta of deltas) assembler.add({ choices: [{ index: 0, delta }] });
  return assembler.whole();
}
const part = (index: number, call: object) => ({ tool_calls: [{ index, ...call }] });

test('arguments that a server sends as an object are kept as JSON', () => {
  const call = { id: 'a', type: 'function', function: { name: 'search', arguments: { query: 'é', n: [1] } } };
  expect(called(chat({ content: null, tool_calls: [call] }))).toEqual([
    { id: 'a', name: 'search', arguments: '{"query":"é","n":[1]}' },
  ]);
});

test('the texts of a reply in parts are its text, and its thinking is its thought', () => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
    { type: 'text', text: 'the ' },
    { type: 'text', text: 'end' },
  ];
  for (const body of [chat({ content }), streamed(content.map((one) => ({ content: [one] })))]) {
    const choice = readReply('chat.completions', body).choices[0];
    expect(choice?.message.reasoning).toBe('hm');
    expect(choice?.message.parts.map((one) => (one.kind === 'text' ? one.text : '')).join('')).toBe('the end');
  }
});

test('calls that a server all numbers 0 stay apart, also where later parts have no id', () => {
  const body = streamed([
    part(0, { id: 'a', function: { name: 'first', arguments: '{"x"' } }),
    part(0, { function: { arguments: ':1}' } }),
    part(0, { id: 'b', function: { name: 'second', arguments: '{"y"' } }),
    part(0, { function: { arguments: ':2}' } }),
    part(0, { id: 'a', function: { arguments: ' ' } }),
  ]);
  expect(called(body)).toEqual([
    { id: 'a', name: 'first', arguments: '{"x":1} ' },
    { id: 'b', name: 'second', arguments: '{"y":2}' },
  ]);
});

test('a name that comes again with every part is not glued to itself', () => {
  const body = streamed([
    part(0, { id: 'a', function: { name: 'search', arguments: '{' } }),
    part(0, { function: { name: 'search', arguments: '}' } }),
    part(1, { id: 'b', function: { name: 'se' } }),
    part(1, { function: { name: 'arch', arguments: '{}' } }),
  ]);
  expect(called(body)).toEqual([
    { id: 'a', name: 'search', arguments: '{}' },
    { id: 'b', name: 'search', arguments: '{}' },
  ]);
});

test('a part of a stream holds any number of tokens', () => {
  const logprobs = { content: Array.from({ length: 200_000 }, () => ({ token: 'a', logprob: -1 })) };
  const ids = logprobs.content.map((_, i) => i);
  const assembler = assemble('chat.completions');
  assembler.add({ choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop', logprobs, token_ids: ids }] });
  expect(readReply('chat.completions', assembler.whole()).choices[0]?.tokens?.ids).toHaveLength(200_000);
});
