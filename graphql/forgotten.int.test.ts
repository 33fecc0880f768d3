import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Envelope } from '../src/events/envelope.ts';
import { newId } from '../src/events/new-id.ts';
import { streamOf } from '../src/events/stream-of.ts';
import type { Principal } from '../src/postgres/principal.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { recordDrawnHistories } from '../src/testing/record-drawn-histories.ts';
import { recordPrompt } from '../src/testing/record-prompt.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

const RECORDS = ['[Observation]: a hall [Action]: north', '[Observation]: a garden [Action]: look'];
const owner: Principal = {
  principal: 'key:atlas',
  keyId: 'atlas',
  name: 'atlas',
  scopes: ['read'],
  project: 'atlas',
  projects: ['atlas'],
};

let api: TestGraphql;
let mine: TestGraphql['ask'];
const builder = new EventBuilder('partly forgotten');
const runId = builder.run('partly');
const [gone, kept] = [builder.tree(runId, 'gone'), builder.tree(runId, 'kept')];
const [steps, keptSteps] = [builder.walk(gone, 0, 3, 1).steps, builder.walk(kept, 0, 3, 1).steps];
const drawn = recordDrawnHistories(builder, gone, steps, { records: RECORDS });
for (const [tree, [stepId = '']] of [[gone, steps] as const, [kept, keptSteps] as const])
  recordPrompt(builder, tree, { stepId, text: 'both are asked this', ids: null, sampled: [], before: null });
const other = builder.run('whole');

beforeAll(async () => {
  api = await openTestGraphql();
  const stamped = builder.events.map((event) => ({ ...event, principal: 'key:atlas', project: 'atlas' }) as Envelope);
  await givenEvents(api.database.db, stamped);
  const segments = drawn.segmentIds.map((segmentId) => streamOf('SegmentRendered', { segmentId }));
  for (const stream of [gone.treeId, ...segments])
    await sql`insert into stream_keys (key_id, stream, destroyed_at) values (${newId()}, ${stream}, now())`.execute(
      api.database.db,
    );
  await sql`delete from segments where segment_id = ${drawn.segmentIds[0]}`.execute(api.database.db); // the other one was recorded again
  ({ ask: mine } = await api.create({}, owner));
});
afterAll(() => api.close());

const FORGOTTEN = `runs { nodes { id forgotten trees { nodes { id forgotten } } } }`;
const RUNS = {
  nodes: expect.arrayContaining([
    {
      id: runId,
      forgotten: true,
      trees: {
        nodes: expect.arrayContaining([
          { id: gone.treeId, forgotten: true },
          { id: kept.treeId, forgotten: false },
        ]),
      },
    },
    { id: other, forgotten: false, trees: { nodes: [] } },
  ]),
};

test('a run says that something of it is forgotten, and its trees and steps say of which', async () => {
  const { data, errors } = await api.ask(
    `query ($gone: ID!, $kept: ID!) { ${FORGOTTEN} gone: step(id: $gone) { forgotten } kept: step(id: $kept) { forgotten } }`,
    { gone: steps[1], kept: keptSteps[1] },
  );
  expect(errors).toBeUndefined();
  expect(data).toEqual({ runs: RUNS, gone: { forgotten: true }, kept: { forgotten: false } });
});

test('a key that sees some projects is answered the same, as of an earlier moment too', async () => {
  const rows = await sql<{ at: string }>`
    select string_agg(topic || '.' || partition || ':' || next_offset, ',') as at from cursors where projection = 'journal'`.execute(
    api.database.db,
  );
  const { data, errors } = await mine(`{ ${FORGOTTEN} asOf(position: "${rows.rows[0]?.at}") { ${FORGOTTEN} } }`);
  expect(errors).toBeUndefined();
  expect(data).toEqual({ runs: RUNS, asOf: { runs: RUNS } });
});

test('the prompt of a forgotten tree is an error with the code FORGOTTEN, and those asked for next to it are answered', async () => {
  const { data, errors } = await mine(
    `query ($gone: ID!, $kept: ID!) {
       gone: step(id: $gone) { prompt { sha256 } } kept: step(id: $kept) { prompt { messages { parts { text } } } } }`,
    { gone: steps[0], kept: keptSteps[0] },
  );
  expect(data).toEqual({
    gone: { prompt: null },
    kept: { prompt: { messages: [{ parts: [{ text: 'both are asked this' }] }] } },
  });
  expect(errors).toEqual([
    expect.objectContaining({ path: ['gone', 'prompt'], extensions: { code: 'FORGOTTEN', stepId: steps[0] } }),
  ]);
});

test('a history segment says that its text is forgotten, unless it was recorded again', async () => {
  const { data, errors } = await mine('query ($id: ID!) { step(id: $id) { historyImage { segments { id text forgotten } } } }', {
    id: steps[2],
  });
  expect(errors).toBeUndefined();
  expect(data.step.historyImage.segments).toEqual([
    { id: drawn.segmentIds[0], text: null, forgotten: true },
    { id: drawn.segmentIds[1], text: RECORDS[1], forgotten: false },
  ]);
});
