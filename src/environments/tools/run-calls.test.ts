import { describe, expect, test } from '@jest/globals';
import type { ToolCall } from '../../domain/tools/parse-calls.ts';
import { runCalls } from './run-calls.ts';
import type { Tool } from './tool.ts';

const tool = (name: string, own: Partial<Tool>): Tool => ({
  name,
  description: name,
  parameters: { type: 'object' },
  execute: () => 'done',
  ...own,
});
const call = (name: string, given: ToolCall['arguments'] = {}): ToolCall => ({
  name,
  arguments: given,
  text: '{}',
  floats: new Map(),
});
const limits = { timeoutMs: 50, signal: new AbortController().signal, clock: () => 0 };
const runOne = async (own: Partial<Tool>) => (await runCalls(new Map([['t', tool('t', own)]]), [call('t')], limits))[0];

describe('outcomes of tools', () => {
  test.each<[string, Partial<Tool>, string]>([
    ['throws', { execute: () => Promise.reject(new Error('no such city')) }, 'no such city'],
    ['throws no error', { execute: () => Promise.reject('plain') }, 'plain'],
    ['hangs and does not listen', { execute: () => new Promise(() => undefined) }, 'it took longer than 50 ms'],
    ['returns a number', { execute: (() => 5) as unknown as Tool['execute'] }, 'it gave number in place of a text'],
    ['returns nothing', { execute: (() => undefined) as unknown as Tool['execute'] }, 'it gave undefined in place of a text'],
    [
      'returns another object',
      { execute: (() => ({ text: 'x' })) as unknown as Tool['execute'] },
      'it gave an object without content',
    ],
  ])('a tool that %s is an outcome', async (_what, own, reason) => {
    expect(await runOne(own)).toEqual({ kind: 'failed', reason: expect.stringContaining(reason), durationMs: 0 });
  });

  test.each<[string, Partial<Tool>, string]>([
    ['NaN', { reward: () => Number.NaN }, 'its reward NaN is no finite number'],
    [
      'infinite',
      { execute: () => ({ content: 'done', reward: Number.POSITIVE_INFINITY }) },
      'its reward Infinity is no finite number',
    ],
    ['a text', { reward: (() => 'much') as unknown as () => number }, 'its reward much is no finite number'],
    ['thrown', { reward: () => JSON.parse('{') as number }, 'its reward failed: '],
  ])('a reward that is %s is refused and counts 0', async (_what, own, refusal) => {
    expect(await runOne(own)).toMatchObject({
      kind: 'done',
      output: 'done',
      reward: 0,
      refusal: expect.stringContaining(refusal),
    });
  });

  test('the tool is notified when its time is up', async () => {
    let heard = false;
    await runOne({
      execute: (_, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            heard = true;
            reject(new Error('stopped'));
          }),
        ),
    });
    expect(heard).toBe(true);
  });
});

test('calls of one turn run concurrently, and their results keep their order', async () => {
  let release = (): void => undefined;
  const first = new Promise<void>((resolve) => {
    release = resolve;
  });
  const tools = new Map([
    ['slow', tool('slow', { execute: () => first.then(() => 'slow') })],
    ['quick', tool('quick', { execute: async () => release() ?? 'quick' })], // the slow one ends only when this one ran
  ]);
  const outcomes = await runCalls(tools, [call('slow'), call('quick')], { ...limits, timeoutMs: 10_000 });
  expect(outcomes.map((outcome) => (outcome.kind === 'done' ? outcome.output : outcome.reason))).toEqual(['slow', 'quick']);
});

test('a batching tool receives its calls together, and a missing result is a failure of that call', async () => {
  const batches: number[] = [];
  const batching = tool('b', {
    executeBatch: async (calls) => {
      batches.push(calls.length);
      return calls.slice(1).map(({ n }) => `n=${String(n)}`);
    },
  });
  const outcomes = await runCalls(new Map([['b', batching]]), [call('b', { n: 1 }), call('b', { n: 2 })], limits);
  expect(batches).toEqual([2]);
  expect(outcomes).toMatchObject([
    { kind: 'done', output: 'n=2' },
    { kind: 'failed', reason: 'it gave undefined in place of a text' },
  ]);
});
