import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openFolderObjects } from '../../src/blobs/folder-objects.ts';
import type { Envelope } from '../../src/events/envelope.ts';
import { newId } from '../../src/events/new-id.ts';
import { pack } from '../../src/events/packed.ts';
import { sealEvent } from '../../src/events/seal.ts';
import { CODE_VERSION } from '../../src/platform/code-version.ts';
import { localPrincipal, type Principal } from '../../src/postgres/principal.ts';
import { destroyKeys, keysOfStreams } from '../../src/postgres/stream-keys.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { givenEvents } from '../../src/testing/given-events.ts';
import { recordHistory, recordRenderSpec, recordSegment } from '../../src/testing/record-images.ts';
import { until } from '../../src/testing/until.ts';
import { exportTrajectories } from '../../src/usecases/datasets/export/export-trajectories.ts';
import { manifestPath } from '../../src/usecases/datasets/export/manifest.ts';
import { exportQuery } from '../../src/usecases/datasets/export-query.ts';
import { exportRequestOf } from '../../src/usecases/datasets/plan-export.ts';
import { openTestGraphql, type TestGraphql } from '../testing/open-test-graphql.ts';
import { createExports } from './create-exports.ts';

let api: TestGraphql;
let exports: ReturnType<typeof createExports>;
let folder: string;
const builder = new EventBuilder('exports');
const run = builder.run('first');
for (const name of ['a', 'b']) {
  const tree = builder.tree(run, name);
  const rollout = builder.rollout(tree);
  const tokens = { ids: pack('int32', [7, 8, 9]), logProbs: pack('float32', [-0.5, -1, -2]), mask: pack('uint8', [1, 1, 1]) };
  const step = builder.step(tree, rollout, tree.rootStepId, 1, { tokens, termination: 'terminated' });
  builder.reward(tree, step, 1, { rolloutId: rollout });
  builder.finishRollout(tree, rollout, step, { steps: 1 });
}
const theirs = new EventBuilder('theirs');
const run2 = theirs.run('of atlas');
theirs.walk(theirs.tree(run2, 'c'), 0, 2, 1);
const beyond = new EventBuilder('beyond');
const run3 = beyond.run('beyond float32');
beyond.walk(beyond.tree(run3, 'd'), 0, 2, 1e99);
const sealing = new EventBuilder('sealed');
const run4 = sealing.run('sealed');
const sealedTree = sealing.tree(run4, 'e');
sealing.walk(sealedTree, 0, 2, 1);
const drawing = new EventBuilder('drawing'); // the segment that both show is drawn by the first
const [drawnFirst, drawnAgain] = ['drawn first', 'drawn again'].map((name) => {
  const runId = drawing.run(name);
  const tree = drawing.tree(runId, name);
  const [stepId = ''] = drawing.walk(tree, 0, 1, 1).steps;
  return { runId, tree, stepId };
}) as [Drawn, Drawn]; // two names, two runs
const spec = recordRenderSpec(drawing, drawnFirst.runId);
recordRenderSpec(drawing, drawnAgain.runId);
const segmentId = recordSegment(drawing, drawnFirst.runId, spec, 'a record');
for (const { tree, stepId } of [drawnFirst, drawnAgain])
  recordHistory(drawing, tree, { stepId, renderSpecId: spec, segments: [segmentId] });
interface Drawn {
  readonly runId: string;
  readonly tree: ReturnType<EventBuilder['tree']>;
  readonly stepId: string;
}
const atlas: Principal = {
  principal: 'key:atlas',
  keyId: 'atlas',
  name: 'atlas',
  scopes: ['read'],
  project: 'atlas',
  projects: ['atlas'],
};

beforeAll(async () => {
  api = await openTestGraphql();
  const { db } = api.database;
  const ofAtlas = (event: Envelope) => ({ ...event, principal: 'key:atlas', project: 'atlas' }) as Envelope;
  const keys = await keysOfStreams(db, [sealedTree.treeId]);
  const sealed = sealing.events.map((event) => {
    const key = keys.get(event.stream);
    return ofAtlas(key ? sealEvent(event, key) : event);
  });
  await givenEvents(db, [...builder.events, ...theirs.events.map(ofAtlas), ...beyond.events]);
  await givenEvents(db, sealed);
  const isAgain = ({ correlationId }: Envelope) => correlationId === drawnAgain.runId;
  await givenEvents(
    db,
    drawing.events.map((event) => (isAgain(event) ? ofAtlas(event) : event)),
  );
  folder = await mkdtemp(join(tmpdir(), 'espalier-exports-'));
  exports = openExports();
});
afterAll(async () => {
  await exports.close();
  await api.close();
  await rm(folder, { recursive: true });
});

function openExports(): ReturnType<typeof createExports> {
  const { database, blobs, snapshots } = api;
  return createExports({
    db: database.db,
    blobs,
    snapshots,
    objects: openFolderObjects(join(folder, 'kept')),
    scratch: join(folder, 'work'),
    redirects: false,
  });
}

function get(query: Record<string, string>, headers: Record<string, string> = {}, principal = localPrincipal()) {
  return exports.fetch(new Request(`http://api/v1/exports?${new URLSearchParams(query)}`, { headers }), { principal });
}
const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer());
async function errorOf(answer: Response) {
  return {
    status: answer.status,
    ...((await answer.json()) as { error: { code: string; message: string; remedy: string } }).error,
  };
}

/** What the command writes for the same choices: its file and its manifest. */
async function commanded(query: Record<string, string>): Promise<readonly [Buffer, string]> {
  const { plan, query: chosen, empty } = exportRequestOf(exportQuery.parse(query));
  if (plan.kind !== 'trajectories') throw new Error('the command of these tests writes trajectories');
  const out = join(folder, newId());
  const { db } = api.database;
  const rest = { codeVersion: CODE_VERSION, waitMs: 2_000, signal: new AbortController().signal, onProgress: () => undefined };
  await exportTrajectories({ db, blobs: api.blobs, query: chosen, format: plan.format, out, existing: 'refuse', empty, ...rest });
  return [await readFile(out), await readFile(manifestPath(out), 'utf8')];
}

test.each(['openai', 'trl', 'jsonl', 'parquet', 'verl'])(
  'a file of %s and its manifest are those of the command',
  async (format) => {
    const layout = format === 'verl' ? { layout: 'step' } : {};
    const [file, manifest] = await commanded({ format, run, ...layout });
    const answer = await get({ format, run, ...layout });
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, String(file.length)]);
    expect((await bytesOf(answer)).equals(file)).toBe(true);
    expect(answer.headers.get('etag')).toBe(`"${JSON.parse(manifest).sha256}"`);
    expect(await (await get({ format, run, ...layout, manifest: 'true' })).text()).toBe(manifest);
  },
);

test('a key sees its own project, and the run of another is unknown to it', async () => {
  for (const format of ['openai', 'jsonl', 'parquet']) {
    const [file] = await commanded({ format, run: run2 });
    expect((await bytesOf(await get({ format, run: run2 }, {}, atlas))).equals(file)).toBe(true);
    expect(await errorOf(await get({ format, run }, {}, atlas))).toMatchObject({ status: 404, code: 'nothing-matches' });
    const all = await bytesOf(await get({ format, task: 'c' }, {}, atlas));
    expect(all.equals(file)).toBe(true);
  }
});

test('a key has the segments that its histories show, also those that another project drew first', async () => {
  const text = await (await get({ format: 'jsonl', run: drawnAgain.runId }, {}, atlas)).text();
  const events = text.split('\n').flatMap((line) => (line.includes('"SegmentRendered"') ? [JSON.parse(line)] : []));
  expect(events).toMatchObject([{ correlationId: drawnAgain.runId, data: { segmentId, text: 'a record' } }]);
  const [first] = (await commanded({ format: 'jsonl', run: drawnFirst.runId }))[0]
    .toString()
    .split('\n')
    .flatMap((line) => (line.includes('"SegmentRendered"') ? [JSON.parse(line)] : []));
  expect(events[0].data).toEqual(first.data);
});

test('a file that was written for one key is not found by another', async () => {
  const etag = (await get({ run })).headers.get('etag') ?? '';
  const answer = await get({ run }, { range: 'bytes=0-', 'if-range': etag }, atlas);
  expect(answer.status).toBe(404);
});

test.each<[Record<string, string>, object]>([
  [{ run: newId() }, { status: 404, code: 'nothing-matches', remedy: 'loosen the filter, or allow an empty file' }],
  [
    { run: newId(), data: 'good', alpha: '0.6666666666666666', beta: '1e-05' },
    { status: 404, code: 'nothing-matches' },
  ],
  [{ run: 'x' }, { status: 400, code: 'invalid-query', message: expect.stringContaining('filter runs = "x"') }],
  [
    { run, layout: 'step' },
    { status: 400, message: 'layout step is for format verl: rows of openai are no steps', remedy: 'leave it out' },
  ],
  [
    { run, data: 'pairs' },
    { status: 400, code: 'invalid-query', message: expect.stringContaining('pairs') },
  ],
  [
    { run: run3, format: 'trl-grpo' },
    { status: 422, code: 'bad-row', message: expect.stringContaining('float32'), remedy: expect.stringContaining('returnMin') },
  ],
])('%j is refused before the first byte', async (query, refused) => {
  expect(await errorOf(await get(query))).toMatchObject(refused);
});

test('who read a part goes on with the same bytes', async () => {
  const whole = await get({ run });
  const [etag, file] = [whole.headers.get('etag') ?? '', await bytesOf(whole)];
  const rest = await get({ run }, { range: 'bytes=40-', 'if-range': etag });
  expect([rest.status, rest.headers.get('content-range')]).toEqual([206, `bytes 40-${file.length - 1}/${file.length}`]);
  expect((await bytesOf(rest)).equals(file.subarray(40))).toBe(true);
  const other = await get({ run }, { range: 'bytes=40-', 'if-range': `"${'0'.repeat(64)}"` });
  expect([other.status, (await bytesOf(other)).equals(file)]).toEqual([200, true]);
  const beyond = await get({ run }, { range: `bytes=${file.length}-` });
  expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, `bytes */${file.length}`]);
});

/** Has what reads runs wait until it is released. */
async function holdRuns() {
  const client = await api.database.pool.connect();
  await client.query('begin; lock table runs in access exclusive mode');
  const waiting =
    'select count(*)::int as n from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())';
  return {
    whileWaiting: (many: number) => until(async () => (await client.query(waiting)).rows[0].n === many),
    release: () => client.query('rollback').finally(() => client.release()),
  };
}

test('two at once are whole and equal, and a third of the same key waits its turn', async () => {
  const held = await holdRuns();
  const both = [get({ run }), get({ run })];
  await held.whileWaiting(2);
  expect((await get({ run })).status).toBe(429);
  await held.release();
  const [one, two] = await Promise.all((await Promise.all(both)).map(bytesOf));
  expect(one?.equals(two ?? Buffer.alloc(0))).toBe(true);
});

test('the statement of a client that left is canceled, and its place is free', async () => {
  const held = await holdRuns();
  const leaving = new AbortController();
  const left = exports.fetch(new Request(`http://api/v1/exports?run=${run}`, { signal: leaving.signal }), {
    principal: localPrincipal(),
  });
  await held.whileWaiting(1);
  leaving.abort();
  expect((await left).status).toBe(499);
  await held.whileWaiting(0);
  await held.release();
});

test.each(['openai', 'jsonl'])('a limited key has what is sealed in the clear, as %s', async (format) => {
  const [file] = await commanded({ format, run: run4 });
  expect((await bytesOf(await get({ format, run: run4 }, {}, atlas))).equals(file)).toBe(true);
  expect(file.toString()).toContain('Goal: craft e.');
});

test('what is forgotten is refused to a client that read a part of it', async () => {
  const etag = (await get({ run: run4 }, {}, atlas)).headers.get('etag') ?? '';
  await destroyKeys(api.database.db, [sealedTree.treeId]);
  const answer = await get({ run: run4 }, { range: 'bytes=40-', 'if-range': etag }, atlas);
  expect(await errorOf(answer)).toMatchObject({ status: 410, code: 'forgotten' });
});
