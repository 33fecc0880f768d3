import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { pack } from '../src/events/packed.ts';
import { openTestProxy, postTo, type TestProxy } from '../src/http/proxy/proxy-testing.ts';
import { localPrincipal } from '../src/postgres/principal.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { everyEvent } from '../src/testing/every-event.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { completion } from '../src/testing/upstream.ts';
import { createGraphql } from './create-graphql.ts';
import { openTestGraphql } from './testing/open-test-graphql.ts';

const CALL = `id treeId rolloutId rollout { id } ordinal parentStepId stepId step { id response } place source api outcome status message promptSha256
  choices { message tokens { ids { dtype length base64 } logProbs { length } } usage { completionTokens } finishReason }
  call { model requestHash } firstMs totalMs agents attributes pictures { id } occurredAt`;

describe('calls that the proxy captured', () => {
  let proxy: TestProxy;
  let url: string;
  beforeEach(async () => {
    proxy = await openTestProxy();
    url = await proxy.restart();
  });
  afterEach(() => proxy.close());

  async function ask(query: string, variables: object) {
    const { log, blobs, database } = proxy.api;
    const unused = null as never; // nothing waits here, and no other moment is looked at
    const graphql = await createGraphql({ db: database.db, log, blobs, notices: unused, snapshots: unused });
    const response = await graphql.fetch(
      new Request('http://api/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      }),
      { principal: localPrincipal() },
    );
    return response.json();
  }

  test('a tree lists them with what was sent and returned, also those that failed, and a step names the one that it became', async () => {
    const long = 'x'.repeat(70_000);
    let failing = false;
    proxy.answer((body, res) => {
      if (!failing) return completion(body.messages?.length === 1 ? 'go north' : long, body);
      res.writeHead(400, { 'content-type': 'application/json' });
      return void res.end('{"error":{"message":"too long"}}');
    });
    const chat = (messages: readonly object[]) => postTo(url, '/run/task/0/chat/completions', { model: 'served', messages });
    const opening = [{ role: 'user', content: 'A hall.' }];
    await chat(opening);
    const more = [...opening, { role: 'assistant', content: 'go north' }, { role: 'user', content: 'A desk.' }];
    await chat(more);
    failing = true;
    await chat([...more, { role: 'assistant', content: long }, { role: 'user', content: 'On.' }]);
    const { trees, steps, rollouts } = await proxy.recorded();
    const [north, second] = steps.slice(1);

    const { data, errors } = await ask(
      `query ($tree: ID!) { tree(id: $tree) { calls { totalCount nodes { ${CALL} } } steps { id captured { ordinal outcome stepId } call { model } } } }`,
      { tree: trees[0]?.treeId },
    );
    expect(errors).toBeUndefined();
    const { nodes, totalCount } = data.tree.calls;
    expect(totalCount).toBe(3);
    expect(nodes[0]).toMatchObject({
      treeId: trees[0]?.treeId,
      rolloutId: rollouts[0]?.rolloutId,
      rollout: { id: rollouts[0]?.rolloutId },
      ordinal: 0,
      stepId: north?.stepId,
      step: { response: 'go north' },
      parentStepId: steps[0]?.stepId,
      place: 'path',
      source: 'proxy',
      api: 'chat.completions',
      outcome: 'answered',
      status: 200,
      message: '',
      call: { model: 'served' },
      agents: [],
      attributes: null,
      pictures: [],
      firstMs: null,
      totalMs: expect.any(Number),
    });
    const ids = pack('int32', [...Buffer.from('go north')]).bytes;
    expect(nodes[0].choices).toMatchObject([
      { tokens: { ids: { dtype: 'int32', length: 8, base64: ids }, logProbs: { length: 8 } }, finishReason: 'stop' },
    ]);
    expect(JSON.parse(nodes[0].choices[0].message)).toMatchObject({ role: 'assistant', content: 'go north' });
    expect(JSON.parse(nodes[1].choices[0].message).content).toHaveLength(70_000); // it lies in the blob store
    expect(nodes[2]).toMatchObject({ outcome: 'failed', status: 400, stepId: null, step: null, choices: [], call: null });
    expect(nodes[2].message).toContain('too long');
    expect(data.tree.steps.map(({ captured }: { captured: unknown }) => captured)).toEqual([
      null,
      { ordinal: 0, outcome: 'answered', stepId: north?.stepId },
      { ordinal: 1, outcome: 'answered', stepId: second?.stepId },
    ]);
  });

  test('calls that may belong to the path of a rollout are counted by the rollout and by its run', async () => {
    const calls = [{ id: 'c', type: 'function', function: { name: 'bash', arguments: '{}' } }];
    proxy.answer((body) => completion('look', body, { tool_calls: calls }));
    const chat = (content: string) =>
      postTo(url, '/run/task/0/chat/completions', { model: 'served', messages: [{ role: 'user', content }] });
    await chat('Fix it.');
    await chat('Summary: you looked.');
    const counted = `query ($run: ID!) {
      run(id: $run) { totals { unclearCalls } rollouts { nodes { unclearCalls } } } }`;
    const { runs } = await proxy.recorded();
    const asked = async () => (await ask(counted, { run: runs[0]?.runId })).data;
    expect(await asked()).toEqual({ run: { totals: { unclearCalls: 0 }, rollouts: { nodes: [{ unclearCalls: null }] } } });
    await postTo(url, '/run/task/0/end', {});
    await proxy.recorded();
    expect(await asked()).toEqual({ run: { totals: { unclearCalls: 1 }, rollouts: { nodes: [{ unclearCalls: 1 }] } } });
  });

  test('calls of a trace say which agents made them, with the attributes that have no field', async () => {
    const attributes = (given: object) =>
      Object.entries(given).map(([key, value]) => ({ key, value: { stringValue: String(value) } }));
    const span = (spanId: string, parent: string | undefined, given: object) => ({
      traceId: 'a'.repeat(32),
      spanId: spanId.repeat(16),
      parentSpanId: parent?.repeat(16),
      name: 'span',
      startTimeUnixNano: '1700000000000000000',
      endTimeUnixNano: '1700000000010000000',
      attributes: attributes(given),
    });
    const said = (role: string, content: string) => JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);
    const asked = {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'm',
      'custom.team': 'red',
      'gen_ai.input.messages': said('user', 'go'),
      'gen_ai.output.messages': said('assistant', 'gone'),
    };
    const agent = (name: string) => ({ 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': name });
    const spans = [span('1', '2', asked), span('2', '3', agent('helper')), span('3', undefined, agent('main'))];
    await fetch(`${url}/v1/traces`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }),
    });
    await proxy.place();
    const { trees } = await proxy.recorded();
    const { data, errors } = await ask(
      'query ($tree: ID!) { tree(id: $tree) { calls { nodes { source agents attributes } } } }',
      { tree: trees[0]?.treeId },
    );
    expect(errors).toBeUndefined();
    const [call] = data.tree.calls.nodes;
    expect(call).toMatchObject({ source: 'trace', agents: ['main', 'helper'] });
    expect(JSON.parse(call.attributes)).toMatchObject({
      'custom.team': 'red',
      missing: ['prompt token ids', 'token ids', 'log-probabilities'],
    });
  });
});

describe('calls on record', () => {
  const recorded = everyEvent().find(({ type }) => type === 'CallCaptured');
  const builder = new EventBuilder('calls');
  const runId = builder.run('captured');
  const tree = builder.tree(runId);
  for (let ordinal = 0; ordinal < 5; ordinal++) {
    const own = {
      treeId: tree.treeId,
      callId: builder.id('call', ordinal),
      parentStepId: tree.rootStepId,
      stepId: null,
      ordinal,
    };
    builder.record('CallCaptured', { ...(recorded?.data as never as object), ...own } as never, runId);
  }
  const PAGE = `query ($tree: ID!, $first: Int, $after: String, $last: Int, $before: String) {
    tree(id: $tree) { calls(first: $first, after: $after, last: $last, before: $before) {
      nodes { ordinal } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }`;

  test('they come in pages, both ways, and as of a moment before them there are none', async () => {
    const api = await openTestGraphql();
    try {
      await givenEvents(api.database.db, builder.events);
      const page = async (variables: object) =>
        (await api.ask(PAGE, { tree: tree.treeId, ...variables })).data.tree.calls as {
          nodes: { ordinal: number }[];
          pageInfo: { hasNextPage: boolean; endCursor: string; startCursor: string };
        };
      const ordinals = ({ nodes }: { nodes: { ordinal: number }[] }) => nodes.map(({ ordinal }) => ordinal);
      const first = await page({ first: 2 });
      const next = await page({ first: 2, after: first.pageInfo.endCursor });
      const last = await page({ first: 2, after: next.pageInfo.endCursor });
      expect([first, next, last].map(ordinals)).toEqual([[0, 1], [2, 3], [4]]);
      expect([first, next, last].map(({ pageInfo }) => pageInfo.hasNextPage)).toEqual([true, true, false]);
      expect(ordinals(await page({ last: 2, before: last.pageInfo.startCursor }))).toEqual([2, 3]);
      const { rows } = await sql<{ at: string }>`
        select string_agg(topic || '.' || partition || ':' || case when topic = 'trees' then 1 else next_offset end, ',') as at
        from cursors where projection = 'journal'`.execute(api.database.db);
      const then = await api.ask(
        `query ($at: String!, $tree: ID!) { asOf(position: $at) { tree(id: $tree) { calls { totalCount nodes { ordinal } } } } }`,
        { at: rows[0]?.at, tree: tree.treeId },
      );
      expect(then).toEqual({ data: { asOf: { tree: { calls: { totalCount: 0, nodes: [] } } } } });
    } finally {
      await api.close();
    }
  });
});
