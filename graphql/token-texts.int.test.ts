import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pack } from '../src/events/packed.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
const builder = new EventBuilder('token texts');
const run = builder.run('r');
const tree = builder.tree(run);
const ids = { ids: pack('int32', [5, 6, 7]), logProbs: null, mask: null };
const ends = { ends: pack('int32', [1, 3, 3]), entropies: pack('float32', [1.5, 0.25, 0]) };
const step = (tokens: object | null, response: string) =>
  builder.step(tree, null, tree.rootStepId, 1, { response, tokens: tokens as typeof ids | null });
const steps = {
  'recorded ends': step({ ...ids, ...ends }, 'é🌳 go'),
  'no ends': step(ids, 'é🌳 go'),
  single: step({ ...ids, ids: pack('int32', [4]) }, 'look around'),
  none: step(null, 'é🌳 go'),
};

beforeAll(async () => {
  api = await openTestGraphql();
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

const READ = 'query ($id: ID!) { step(id: $id) { tokenTexts tokens { ends { base64 } entropies { dtype length } } } }';

test.each([
  ['recorded ends', ['é', '🌳 ', ''], { ends: { base64: ends.ends.bytes }, entropies: { dtype: 'float32', length: 3 } }],
  ['no ends', null, { ends: null, entropies: null }],
  ['single', ['look around'], { ends: null, entropies: null }],
  ['none', null, null],
] as const)(
  'the tokens of a step (%s) have texts where the record says where they end, or there is one alone',
  async (name, tokenTexts, tokens) => {
    const { data, errors } = await api.ask(READ, { id: steps[name] });
    expect(errors).toBeUndefined();
    expect(data.step).toEqual({ tokenTexts, tokens });
  },
);

test('token texts of a whole tree are read with nothing else of its steps', async () => {
  const { data, errors } = await api.ask('query ($id: ID!) { tree(id: $id) { steps { tokenTexts } } }', { id: tree.treeId });
  expect(errors).toBeUndefined();
  const texts = data.tree.steps.map(({ tokenTexts }: { tokenTexts: readonly string[] | null }) => tokenTexts);
  expect(texts).toEqual([null, ['é', '🌳 ', ''], null, ['look around'], null]);
});

test('a tokenizer that the installation knows for the policy decodes its ids, and a broken one is refused by name', async () => {
  const decoder = { texts: (given: readonly number[]) => given.map((id) => `<${id}>`), split: (text: string) => [text] };
  const knowing = await api.create({ tokenizers: async (names) => (names.includes('random') ? decoder : null) });
  const asked = async (name: keyof typeof steps) => (await knowing.ask(READ, { id: steps[name] })).data.step.tokenTexts;
  expect(await asked('no ends')).toEqual(['<5>', '<6>', '<7>']);
  expect(await asked('single')).toEqual(['<4>']);
  expect(await asked('recorded ends')).toEqual(['é', '🌳 ', '']);
  const broken = await api.create({ tokenizers: () => Promise.reject(new Error('/models/q/tokenizer.json cannot be read')) });
  const { errors } = await broken.ask(READ, { id: steps['no ends'] });
  expect(errors?.[0]).toMatchObject({ message: expect.stringContaining('tokenizer.json'), extensions: { code: 'UNAVAILABLE' } });
});
