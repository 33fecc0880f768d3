import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Envelope } from '../src/events/envelope.ts';
import type { Principal } from '../src/postgres/principal.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { testPictures } from '../src/testing/painted-world.ts';
import { recordMessages } from '../src/testing/record-messages.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

const { dot, red } = await testPictures();
const builder = new EventBuilder('painted');
const tree = builder.tree(builder.run(), 'a', { pictures: [dot.data] });
const rolloutId = builder.rollout(tree);
const first = builder.step(tree, rolloutId, tree.rootStepId, 1, { pictures: [red.data, dot.data] });
const second = builder.step(tree, rolloutId, first, 2);
recordMessages(builder, tree, first, [
  {
    role: 'user',
    parts: [
      { kind: 'text', text: 'What is it?' },
      { kind: 'image', imageId: dot.id },
    ],
  },
]);

let api: TestGraphql;
beforeAll(async () => {
  api = await openTestGraphql();
  await givenEvents(
    api.database.db,
    builder.events.map((event) => ({ ...event, principal: 'key:atlas', project: 'atlas' }) as Envelope),
  );
});
afterAll(() => api.close());

const STEP = `query ($id: ID!) { step(id: $id) { pictures { id width height url }
  prompt { messages { parts { text image { id } picture { id } } } } } }`;
const shown = (picture: { readonly id: string }, width: number) => {
  return { id: picture.id, width, height: 1, url: `/images/${picture.id}.png` };
};

test('the pictures of a step are listed in their order, and a prompt names the picture that it showed', async () => {
  expect(await api.ask(STEP, { id: tree.rootStepId })).toMatchObject({ data: { step: { pictures: [shown(dot, 1)] } } });
  const parts = [
    { text: 'What is it?', image: null, picture: null },
    { text: null, image: null, picture: { id: dot.id } },
  ];
  expect(await api.ask(STEP, { id: first })).toMatchObject({
    data: { step: { pictures: [shown(red, 2), shown(dot, 1)], prompt: { messages: [{ parts }] } } },
  });
  expect(await api.ask(STEP, { id: second })).toMatchObject({ data: { step: { pictures: [] } } });
});

test('a key of another project sees neither the steps nor their pictures', async () => {
  const other: Principal = {
    principal: 'key:other',
    keyId: 'other',
    name: 'other',
    scopes: ['read'],
    project: 'other',
    projects: ['other'],
  };
  const { ask } = await api.create({}, other);
  expect(await ask(STEP, { id: first })).toMatchObject({ data: { step: null } });
});
