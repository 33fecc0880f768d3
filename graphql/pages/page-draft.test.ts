import { expect, test } from '@jest/globals';
import { localPrincipal } from '../../src/postgres/principal.ts';
import type { Operation } from '../studio/operation.ts';
import { OperationFailed, PageDraft } from './page-draft.ts';

const answering = (reply: object) => ({ fetch: () => Response.json(reply) });
const tree: Operation<unknown, object> = { name: 'Tree', text: '{ tree }', asOf: null };
const asking = (reply: object) =>
  new PageDraft(
    { graphql: answering(reply), context: { principal: localPrincipal() }, signal: AbortSignal.timeout(5_000) },
    1_000,
  );

test('what could not be read where the rest was is kept by field and reason, with the number of places', async () => {
  const gone = (step: number) => ({ message: 'it is forgotten', path: ['tree', 'steps', step, 'prompt'] });
  const draft = asking({ data: { tree: { steps: [] } }, errors: [gone(0), gone(7), { message: 'a fault', path: ['run'] }] });
  expect(await draft.read(tree, {})).toEqual({ tree: { steps: [] } });
  expect(draft.leftOut).toEqual([
    'Not read, in 2 places: tree.steps.prompt: it is forgotten',
    'Not read, in 1 places: run: a fault',
  ]);
});

test('a question without any answer is refused, and nothing of it counts as lost', async () => {
  const draft = asking({ errors: [{ message: 'it costs too much' }] });
  await expect(draft.read(tree, {})).rejects.toThrow(new OperationFailed('it costs too much', 422, null));
  expect(draft.leftOut).toEqual([]);
});
