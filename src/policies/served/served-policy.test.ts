import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { anActRequest } from '../../testing/act-request.ts';
import type { ModelServer, ServedVersion } from './model-server.ts';
import { servedPolicy } from './served-policy.ts';
import { WeightsGate } from './weights-gate.ts';

const { signal } = new AbortController();
const version: ServedVersion = { policyId: 'p', version: 3, folder: '/checkpoints/three', tensors: 'three' };
const listening: Server[] = [];
let bodies: Record<string, unknown>[] = [];

afterEach(() => {
  bodies = [];
  for (const server of listening.splice(0)) server.closeAllConnections();
});

/** A server that answers with the fingerprint it is given, or cuts the connection where that is null. */
async function model(fingerprint: () => string | null): Promise<{ readonly server: ModelServer; end(): void }> {
  const gone = new AbortController();
  const http = createServer(async (request, response) => {
    bodies.push(JSON.parse(await text(request)));
    const said = fingerprint();
    if (said === null) {
      gone.abort(new Error('it was killed'));
      response.destroy();
      return;
    }
    const logprobs = { content: [{ token: 'look', logprob: -0.5 }] };
    const choices = [{ message: { content: 'look' }, finish_reason: 'stop', token_ids: [7], logprobs }];
    response.end(JSON.stringify({ choices, model: 'policy', system_fingerprint: said }));
  });
  listening.push(http);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`; // it listens on a port
  const end = () => gone.abort();
  const load = async () => ({ model: 'policy', fingerprint: 'three' });
  return { server: { baseUrl, gone: gone.signal, load, close: async () => void http.close() }, end };
}

test('every reply carries the version and the fingerprint that the server confirmed', async () => {
  const { server } = await model(() => 'three');
  const gate = new WeightsGate(async () => server);
  const [act] = await servedPolicy(gate, version).act(anActRequest(), signal);
  expect(act).toMatchObject({ response: 'look', policy: { policyId: 'p', version: 3 }, call: { fingerprint: 'three' } });
  await gate.close();
});

test('requests, and those that are sent on, ask for the whole distribution where they do not say another', async () => {
  const { server } = await model(() => 'three');
  const gate = new WeightsGate(async () => server);
  const policy = servedPolicy(gate, version, { maxTokens: 8 });
  await policy.act(anActRequest({ temperature: 0.7 }), signal);
  await policy.forward({ messages: [], top_p: null, top_k: 5, temperature: 0.5 }, signal);
  const whole = { top_p: 1, min_p: 0, repetition_penalty: 1, max_tokens: 8 };
  expect(bodies).toEqual([
    expect.objectContaining({ ...whole, top_k: -1, temperature: 0.7 }),
    { ...whole, top_k: 5, temperature: 0.5, messages: [], model: 'policy' },
  ]);
  await gate.close();
});

test('log-probabilities from before the temperature are refused for training, and left out of what is recorded elsewhere', async () => {
  const { server } = await model(() => 'three');
  const gate = new WeightsGate(async () => ({ ...server, logProbs: { kind: 'raw', remedy: 'start it otherwise' } }));
  const policy = servedPolicy(gate, version);
  await expect(policy.act(anActRequest({ temperature: 0.5, trains: true }), signal)).rejects.toThrow(/start it otherwise$/);
  expect(bodies).toEqual([]);
  expect(await policy.act(anActRequest({ temperature: 0.5 }), signal)).toMatchObject([{ tokens: { ids: [7], logProbs: null } }]);
  expect(await policy.act(anActRequest({ temperature: 1 }), signal)).toMatchObject([{ tokens: { logProbs: [-0.5] } }]);
  await gate.close();
});

test('a reply that other weights drew is refused with both fingerprints', async () => {
  const { server } = await model(() => 'two');
  const gate = new WeightsGate(async () => server);
  await expect(servedPolicy(gate, version).act(anActRequest(), signal)).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringMatching(/weights two, and version 3 of p has three/),
  });
  await gate.close();
});

test('a server that is killed in the middle of a request is opened again, and the request is answered', async () => {
  let opened = 0;
  const gate = new WeightsGate(async () => {
    opened++;
    const dies = opened === 1;
    return (await model(() => (dies ? null : 'three'))).server;
  });
  const [act] = await servedPolicy(gate, version).act(anActRequest(), signal);
  expect([act?.response, opened]).toEqual(['look', 2]);
  await gate.close();
});
