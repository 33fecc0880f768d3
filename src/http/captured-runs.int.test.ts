import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { TOPICS } from '../events/catalogue.ts';
import { derivedId } from '../events/derived-id.ts';
import { newId } from '../events/new-id.ts';
import { formatPosition } from '../log/position.ts';
import { createKey } from '../postgres/keys.ts';
import { nameOfWaiting, readWaitingRollouts } from '../projections/held-spans/read-waiting.ts';
import { readOwners } from '../projections/owners/read-owners.ts';
import { completion } from '../testing/upstream.ts';
import { DrawnBuilder } from './ingest/ingest-testing.ts';
import { openTestProxy, postTo, type TestProxy, user } from './proxy/proxy-testing.ts';

let proxy: TestProxy;
let url: string;
beforeEach(async () => {
  proxy = await openTestProxy();
  url = await proxy.restart();
});
afterEach(() => proxy.close());

async function keyOf(project: string) {
  const { key } = await createKey(proxy.api.database.db, { name: project, scopes: ['ingest'], projects: [project] });
  return { authorization: `Bearer ${key}` };
}

const call = (run: string, headers: object, task = 'task') =>
  postTo(url, `/${run}/${task}/0/chat/completions`, { model: 'served', messages: [user('Go.')] }, { headers });

/** Sends a span of a call of a model. */
async function send(named: { readonly run: string; readonly task: string }, headers: object, said = 'forged') {
  const given = {
    'espalier.run': named.run,
    'espalier.task': named.task,
    'espalier.rollout': '0',
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'm',
    'gen_ai.input.messages': JSON.stringify([{ role: 'user', parts: [{ type: 'text', content: 'Go.' }] }]),
    'gen_ai.output.messages': JSON.stringify([{ role: 'assistant', parts: [{ type: 'text', content: said }] }]),
  };
  const attributes = Object.entries(given).map(([key, value]) => ({ key, value: { stringValue: value } }));
  const [traceId, spanId] = [newId().replaceAll('-', ''), newId().replaceAll('-', '').slice(16)] as const;
  const times = { startTimeUnixNano: '1700000000000000000', endTimeUnixNano: '1700000000010000000' };
  const spans = [{ traceId, spanId, name: 'call', attributes, ...times }];
  const response = await fetch(`${url}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ spans }] }] }),
  });
  const answer = (await response.json()) as { partialSuccess?: { rejectedSpans: string; errorMessage: string } };
  return {
    status: response.status,
    rejected: Number(answer.partialSuccess?.rejectedSpans ?? 0),
    callId: derivedId('call-span', traceId, spanId),
  };
}

async function principalOf(headers: object): Promise<string> {
  const response = await fetch(`${url}/v1/key`, { headers: { ...headers } });
  return `key:${((await response.json()) as { keyId: string }).keyId}`;
}

const saidIn = async (runId: string) => {
  const { trees, steps } = await proxy.recorded();
  const own = new Set(trees.filter((tree) => tree.runId === runId).map(({ treeId }) => treeId));
  return steps.filter(({ treeId, depth }) => own.has(treeId) && depth > 0).map(({ response }) => response);
};

test('the run of a name in another project is not opened by its id', async () => {
  const [mine, theirs] = [await keyOf('mine'), await keyOf('theirs')];
  const runId = derivedId('captured-run', 'theirs', 'nightly');
  expect((await call(runId, mine)).status).toBe(404);
  expect(await send({ run: runId, task: 'task' }, mine)).toMatchObject({ status: 200, rejected: 1 });
  expect((await call('nightly', theirs)).status).toBe(200);
  expect((await call(runId, theirs, 'second')).status).toBe(200); // it is on record now
  expect(await proxy.place()).toEqual([]);
  expect((await proxy.recorded()).runs).toMatchObject([{ runId, name: 'nightly' }]);
});

test.each(['the same server', 'another server'])(
  'spans that another key sent to %s before the run was opened become no steps of it',
  async (server) => {
    const [mine, theirs] = [await keyOf('shared'), await keyOf('shared')];
    await send({ run: 'nightly', task: 'task' }, mine);
    await send({ run: 'nightly', task: 'second' }, mine);
    if (server === 'another server') url = await proxy.restart();
    expect((await call('nightly', theirs)).status).toBe(200);
    expect((await send({ run: 'nightly', task: 'second' }, theirs, 'own')).rejected).toBe(0);
    const why = await proxy.place();
    expect(why).toEqual(Array(2).fill(expect.stringContaining('the run nightly belongs to another key')));
    const [left] = await readWaitingRollouts(proxy.api.database.db);
    const except = left ? [nameOfWaiting(left)] : [];
    expect(await readWaitingRollouts(proxy.api.database.db, { except, limit: 1 })).toEqual([
      expect.not.objectContaining(left ?? {}),
    ]);
    expect((await postTo(url, '/nightly/close', {}, { headers: theirs })).status).toBe(200);
    const { runs } = await proxy.recorded();
    const said = await saidIn(runs[0]?.runId ?? '');
    expect([said.includes('own'), said.includes('forged')]).toEqual([true, false]);
    expect(await readOwners(proxy.api.database.db, 'runs', [runs[0]?.runId ?? ''])).toEqual(
      new Map([[runs[0]?.runId, expect.objectContaining({ principal: await principalOf(theirs) })]]),
    );
  },
);

test('a span waits until its own tree has its call, whatever other trees say under its id', async () => {
  const [mine, theirs] = [await keyOf('mine'), await keyOf('theirs')];
  const { callId } = await send({ run: 'nightly', task: 'task' }, theirs, 'own');
  const builder = new DrawnBuilder();
  const tree = builder.tree(builder.run());
  const rolloutId = builder.rollout(tree);
  const { treeId, rootStepId: parentStepId } = tree;
  builder.record(
    'CallCaptured',
    {
      callId,
      treeId,
      rolloutId,
      ordinal: 0,
      parentStepId,
      stepId: null,
      place: 'path',
      source: 'trace',
      api: 'responses',
      outcome: 'failed',
      status: null,
      message: '',
      prompt: null,
      choices: [],
      call: null,
      timings: { firstMs: null, totalMs: 1 },
    },
    tree.runId,
  );
  expect((await proxy.api.post(builder.events, mine)).status).toBe(200);
  await proxy.place();
  await postTo(url, '/nightly/close', {}, { headers: theirs });
  expect(await saidIn(derivedId('captured-run', 'theirs', 'nightly'))).toEqual(['own']);
});

test('a request that is refused with what the record asks for takes the tokens of no other key', async () => {
  const [mine, theirs] = [await keyOf('mine'), await keyOf('theirs')];
  proxy.answer((body, res) => {
    if (body.top_k !== -7 || body.logprobs !== true) return completion('a', body);
    res.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"top_k"}}');
    return undefined;
  });
  const ask = (headers: object, more: object) =>
    postTo(url, '/run/task/0/chat/completions', { model: 'served', messages: [user('Go.')], ...more }, { headers });
  expect((await ask(mine, { top_k: -7 })).status).toBe(200);
  expect((await ask(theirs, {})).status).toBe(200);
  const { requests } = proxy.upstream;
  expect(requests.map(({ body }) => body.return_token_ids === true)).toEqual([true, false, false, true]);
});

test('a rollout of a program that is gone is ended with the steps that it took from where it began', async () => {
  const mine = await keyOf('mine');
  const builder = new DrawnBuilder();
  const tree = builder.tree(builder.run());
  const first = builder.rollout(tree, 0);
  const shared = builder.step(tree, first, tree.rootStepId, 1);
  const branch = builder.rollout(tree, 1, { fromStepId: shared });
  const leaf = builder.step(tree, branch, shared, 2);
  expect((await proxy.api.post(builder.events, mine)).status).toBe(200);
  await proxy.api.projected(formatPosition(await proxy.api.log.ends(TOPICS)));
  const ended = await postTo(url, `/${tree.runId}/${tree.treeId}/${branch}/end`, { outcome: 'cancelled' }, { headers: mine });
  expect([ended.status, await ended.json()]).toEqual([200, expect.anything()]);
  const { rollouts } = await proxy.recorded();
  expect(rollouts.find(({ rolloutId }) => rolloutId === branch)).toMatchObject({ leafStepId: leaf, steps: 1 });
});
