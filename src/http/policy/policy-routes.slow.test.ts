import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { zeroWeights } from '../../policies/linear/weights.ts';
import { candidateLogProbs, linearPolicy } from '../../policies/linear-policy.ts';
import { openAiPolicy } from '../../policies/openai-policy.ts';
import type { ApiKey } from '../../postgres/keys.ts';
import { sees } from '../../postgres/principal.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { anActRequest } from '../../testing/act-request.ts';
import { createApp } from '../app.ts';
import { policyRoutes } from './policy-routes.ts';

const weights = { version: 3, values: zeroWeights().values.map((_, i) => ((i * 7919) % 13) / 13 - 0.5) };
const policy = linearPolicy(weights, { policyId: 'crafter' });
const request = anActRequest({
  history: [{ response: 'Thought: t\nAction: inventory', action: 'inventory', observation: 'Inventory: empty' }],
});
const candidates = request.admissibleActions ?? [];
const never = new AbortController().signal;

let url: string;
let app: FastifyInstance;
beforeAll(async () => {
  const auth = { keys: 'optional', verify: async () => undefined } as const;
  app = await createApp({ routes: policyRoutes(policy, () => 0), auth, metrics: createMetrics() });
  url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/v1`;
});
afterAll(() => app.close());

const post = async (body: unknown) => {
  const answer = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return {
    status: answer.status,
    body: (await answer.json()) as { error?: { message: string; code: string }; choices?: { message: { content: string } }[] },
  }; // checked by each test
};

describe('policies served as models', () => {
  test('a served policy acts through our client as in this process: text, token and log-probability', async () => {
    const client = openAiPolicy({ baseUrl: url, model: 'crafter', actions: 'send' });
    for (const seed of [1, 2, 3]) {
      const asked = { ...request, seed, n: 4 };
      const [here, there] = [await policy.act(asked, never), await client.act(asked, never)];
      expect(there.map(({ response, tokens, finishReason }) => ({ response, tokens, finishReason }))).toEqual(
        here.map(({ response, tokens, finishReason }) => ({ response, tokens, finishReason })),
      );
    }
    const [act] = await client.act({ ...request, temperature: 0.5 }, never);
    const chosen = act?.tokens?.ids[0] ?? -1;
    expect(act?.tokens?.logProbs?.[0]).toBe(candidateLogProbs(weights, request, candidates, 0.5)[chosen]);
    expect(act?.call?.model).toBe('crafter');
  });

  test('a served policy reads the actions from the prompt, and returns tokens only on request', async () => {
    const list = `[${candidates.map((action) => `'${action}'`).join('\n ')}]`;
    const content = `${request.firstObservation}\n\nWhat you can do now:\n${list}`;
    const answer = await post({ model: 'crafter', messages: [{ role: 'user', content }], seed: 1, n: 2 });
    const actions = answer.body.choices?.map(({ message }) => /Action: (.*)$/.exec(message.content)?.[1]);
    expect(actions).toHaveLength(2);
    expect(actions?.every((action) => candidates.includes(action ?? ''))).toBe(true);
    expect(answer.body.choices?.[0]).not.toHaveProperty('token_ids');
  });

  test.each([
    ['another model', { model: 'gpt' }, 404, 'does not exist'],
    ['a stream', { stream: true }, 400, 'streams are not served'],
    ['nucleus sampling', { top_p: 0.5 }, 400, 'only 1 is served'],
    ['the likeliest tokens', { top_k: 20 }, 400, 'its whole distribution'],
    ['no message', { messages: [] }, 400, 'messages'],
    [
      'a reply as the last message',
      {
        messages: [
          { role: 'user', content: 'x' },
          { role: 'assistant', content: 'y' },
        ],
      },
      400,
      'must be of the user',
    ],
    ['no action to choose from', { admissible_actions: null }, 400, 'was given none'],
  ])('a request with %s is refused as by such servers', async (_, change, status, message) => {
    const body = {
      model: 'crafter',
      messages: [{ role: 'user', content: 'Goal: x' }],
      admissible_actions: ['a', 'b'],
      ...change,
    };
    const answer = await post(body);
    expect([answer.status, answer.body.error?.message]).toEqual([status, expect.stringContaining(message)]);
  });

  test('a body that is not JSON is refused', async () => {
    expect((await post('{')).status).toBe(400);
  });
});

describe('a policy that belongs to a project', () => {
  const key = (project: string): ApiKey => ({
    keyId: project,
    name: project,
    scopes: ['read'],
    replaces: [],
    project,
    projects: [project],
    quota: { requestsPerMinute: null, bytesPerMinute: null },
    createdAt: new Date(0),
    expiresAt: null,
    revokedAt: null,
  });
  let confined: FastifyInstance;
  let at: string;
  beforeAll(async () => {
    const auth = { keys: 'required', verify: async (presented: string) => key(presented) } as const;
    const routes = policyRoutes(
      policy,
      () => 0,
      async (principal) => sees(principal, 'atlas'),
    );
    confined = await createApp({ routes, auth, metrics: createMetrics() });
    at = await confined.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => confined.close());
  const ask = async (project: string, model: string) => {
    const headers = { authorization: `Bearer ${project}`, 'content-type': 'application/json' };
    const messages = [{ role: 'user', content: 'Goal: x' }];
    const body = JSON.stringify({ model, messages, admissible_actions: ['a', 'b'] });
    const answer = await fetch(`${at}/v1/chat/completions`, { method: 'POST', headers, body });
    const models = await fetch(`${at}/v1/models`, { headers });
    return { status: answer.status, text: await answer.text(), models: await models.text() };
  };

  test('it acts for a key of its project, and is not there for another one', async () => {
    expect(await ask('atlas', 'crafter')).toMatchObject({ status: 200, models: expect.stringContaining('"id":"crafter"') });
    const [served, unknown] = [await ask('borealis', 'crafter'), await ask('borealis', 'unheard')];
    expect(served).toMatchObject({ status: 404, models: expect.stringContaining('"data":[]') });
    expect(served).toEqual({ ...unknown, text: unknown.text.replace('unheard', 'crafter') });
  });
});
