import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import type { ServedPolicy } from '../../policies/served/served-policy.ts';
import { createMetrics } from '../../runtime/metrics.ts';
import { createApp } from '../app.ts';
import { forwardRoutes } from './forward-routes.ts';

const sent: object[] = [];
const policy: ServedPolicy = {
  ref: { policyId: 'talker', version: 4 },
  act: async () => [],
  close: async () => undefined,
  async forward(body) {
    sent.push(body);
    if (body.top_p === 0.5) return { status: 400, answer: { error: { message: 'top_p must be 1' } } };
    return { status: 200, answer: { id: 'chatcmpl-1', model: 'policy', system_fingerprint: 'abc', choices: [] } };
  },
};

let url: string;
let app: FastifyInstance;
beforeAll(async () => {
  const auth = { keys: 'optional', verify: async () => undefined } as const;
  app = await createApp({ routes: forwardRoutes(policy, () => 0), auth, metrics: createMetrics() });
  url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/v1`;
});
afterAll(() => app.close());

async function ask(body: object) {
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}
const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] }];

test('a request goes on to the model server as it came, and its answer comes back under the name of the policy', async () => {
  const { status, body } = await ask({ model: 'talker', messages, logprobs: true });
  expect([status, body]).toEqual([200, { id: 'chatcmpl-1', model: 'talker', system_fingerprint: 'abc', choices: [] }]);
  expect(sent.at(-1)).toMatchObject({ messages, logprobs: true });
});

test('a request for another model, a stream, and what the server refuses are refused', async () => {
  expect(await ask({ model: 'other', messages })).toMatchObject({ status: 404, body: { error: { code: 'model_not_found' } } });
  expect(await ask({ model: 'talker', messages, stream: true })).toMatchObject({ status: 400 });
  expect(await ask({ model: 'talker', messages, top_p: 0.5 })).toEqual({
    status: 400,
    body: { error: { message: 'top_p must be 1' } },
  });
});

test('the list of models names the policy and its newest version', async () => {
  const models = await (await fetch(`${url}/models`)).json();
  expect(models).toMatchObject({ data: [{ id: 'talker', version: 4 }] });
});
