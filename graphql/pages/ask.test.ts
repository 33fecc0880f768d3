import { expect, test } from '@jest/globals';
import { localPrincipal } from '../../src/postgres/principal.ts';
import type { Operation } from '../studio/operation.ts';
import { asker, NoAnswer } from './ask.ts';

const answering = (reply: object) => ({ fetch: () => Response.json(reply) });
const tree: Operation<unknown, object> = { name: 'Tree', text: '{ tree }', asOf: null };
const asking = (reply: object) => asker(answering(reply), { principal: localPrincipal() }, AbortSignal.timeout(5_000));

test('what could not be read where the rest was is kept by field and reason, with the number of places', async () => {
  const gone = (step: number) => ({ message: 'it is forgotten', path: ['tree', 'steps', step, 'prompt'] });
  const ask = asking({ data: { tree: { steps: [] } }, errors: [gone(0), gone(7), { message: 'a fault', path: ['run'] }] });
  expect(await ask(tree, {})).toEqual({ tree: { steps: [] } });
  expect([...ask.lost]).toEqual([
    ['tree.steps.prompt: it is forgotten', 2],
    ['run: a fault', 1],
  ]);
});

test('a question without any answer is refused, and nothing of it counts as lost', async () => {
  const ask = asking({ errors: [{ message: 'it costs too much' }] });
  await expect(ask(tree, {})).rejects.toThrow(new NoAnswer('it costs too much', 422, null));
  expect(ask.lost.size).toBe(0);
});
