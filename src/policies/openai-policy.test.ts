import { afterEach, describe, expect, test } from '@jest/globals';
import { retryAfterMs } from '../runtime/retry-after.ts';
import { anActRequest } from '../testing/act-request.ts';
import {
  type OpenAiServer,
  type ServerOptions,
  startOpenAiServer,
  tokenId,
  tokenLogProb,
  tokensOf,
} from '../testing/openai-server.ts';
import { backoffMs, type World } from './openai/retry.ts';
import { type OpenAiOptions, openAiPolicy } from './openai-policy.ts';
import type { Policy } from './policy.ts';

const never = new AbortController().signal;
const open: OpenAiServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

/**
 * A server whose replies name their seed and choice, a policy that asks it, and the waits that the policy made (none of them
 * real).
 */
async function given(
  server: Partial<ServerOptions> = {},
  options: Partial<OpenAiOptions> = {},
): Promise<{ server: OpenAiServer; policy: Policy; waits: number[] }> {
  const started = await startOpenAiServer({
    reply: (request, choice) => `Thought: ${request.seed}\nAction: a${choice}`,
    ...server,
  });
  open.push(started);
  const waits: number[] = [];
  let clock = 0;
  const world: World = {
    fetch: (...call) => globalThis.fetch(...call),
    sleep: async (ms) => {
      waits.push(ms);
    },
    random: () => 0,
    now: () => clock++ * 10,
    date: () => Date.UTC(2026, 0, 1),
  };
  return { server: started, waits, policy: openAiPolicy({ baseUrl: started.url, model: 'qwen', ...options }, world) };
}

const turns = (count: number): { response: string; action: string; observation: string }[] =>
  Array.from({ length: count }, (_, i) => ({ response: `Action: act${i}`, action: `act${i}`, observation: `seen ${i}` }));

describe('requests to the model server', () => {
  test('a request carries the prompt, the sampling settings and the key, and asks for token ids', async () => {
    const { server, policy } = await given(
      { apiKey: 'sk-1', model: 'qwen' },
      { apiKey: 'sk-1', topP: 0.9, maxTokens: 50, stop: ['Observation:'] },
    );
    await policy.act(anActRequest({ n: 2, seed: 2 ** 31 + 5, temperature: 0.7, history: turns(1) }), never);
    expect(server.requests).toHaveLength(1);
    expect(JSON.parse(server.requests[0]?.text ?? '')).toEqual({
      model: 'qwen',
      messages: [
        { role: 'system', content: anActRequest().instruction },
        { role: 'user', content: anActRequest().firstObservation },
        { role: 'assistant', content: 'Action: act0' },
        { role: 'user', content: 'seen 0' },
      ],
      temperature: 0.7,
      top_p: 0.9,
      max_tokens: 50,
      stop: ['Observation:'],
      n: 2,
      seed: 5,
      logprobs: true,
      return_token_ids: true,
      return_tokens_as_token_ids: true,
      return_meta_info: true,
    });
    expect(server.requests[0]?.headers.authorization).toBe('Bearer sk-1');
  });

  test('a request omits the fields that only open servers know, when configured so', async () => {
    const { server, policy } = await given({}, { tokenIds: 'none' });
    await policy.act(anActRequest(), never);
    expect(Object.keys(JSON.parse(server.requests[0]?.text ?? ''))).toEqual(['model', 'messages', 'temperature', 'n', 'seed']);
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  test('a request contains the history as recorded, with half surrogates and NUL replaced', async () => {
    const { server, policy } = await given();
    await policy.act(anActRequest({ history: [{ response: 'Action: \ud83d', action: 'a', observation: 'x\0y' }] }), never);
    expect(server.requests[0]?.body?.messages.slice(2).map((message) => message.content)).toEqual(['Action: \ufffd', 'x\ufffdy']);
  });

  test('the instruction moves into the first user message for models without a system role', async () => {
    const { server, policy } = await given({}, { systemRole: 'merged' });
    await policy.act(anActRequest({ history: turns(1) }), never);
    expect(server.requests[0]?.body?.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'user']);
  });
});

describe('acts of an answer', () => {
  test('the acts are the choices in order, with the call that produced them', async () => {
    const { policy } = await given({ model: 'qwen' });
    const acts = await policy.act(anActRequest({ n: 3 }), never);
    expect(acts.map((act) => act.response)).toEqual([
      'Thought: 1\nAction: a0',
      'Thought: 1\nAction: a1',
      'Thought: 1\nAction: a2',
    ]);
    const prompt = tokensOf(anActRequest().instruction).length + tokensOf(anActRequest().firstObservation).length;
    expect(acts[0]).toEqual({
      response: 'Thought: 1\nAction: a0',
      tokens: null,
      usage: { promptTokens: prompt, completionTokens: 4 },
      finishReason: 'stop',
      call: {
        responseId: 'chatcmpl-1',
        model: 'qwen',
        requestHash: expect.stringMatching(/^[0-9a-f]{64}$/),
        attempts: 1,
        latencyMs: 10,
        usage: { promptTokens: prompt, completionTokens: 12 },
        trimmed: null,
      },
    });
  });

  test.each(['token_ids', 'token-text', 'meta_info'] as const)(
    'the acts hold the sampled ids and log-probabilities of the %s dialect',
    async (tokenIds) => {
      const { policy } = await given({ tokenIds });
      const [act] = await policy.act(anActRequest({ n: 2 }), never);
      const tokens = tokensOf('Thought: 1\nAction: a0');
      expect(act?.response).toBe('Thought: 1\nAction: a0');
      expect(act?.tokens).toEqual({ ids: tokens.map(tokenId), logProbs: tokens.map((_, i) => tokenLogProb(i)) });
    },
  );

  test('a reply cut at maxTokens ends as `length`, and one cut at a stop text as `stop`', async () => {
    const { policy } = await given({}, { maxTokens: 20, stop: ['Action:'] });
    expect((await policy.act(anActRequest(), never))[0]).toMatchObject({ response: 'Thought: 1\n', finishReason: 'stop' });
    const other = await given({}, { maxTokens: 2 });
    expect((await other.policy.act(anActRequest(), never))[0]).toMatchObject({
      response: 'Thought: 1',
      finishReason: 'length',
      usage: { completionTokens: 2 },
    });
  });

  test('a server that ignores n is asked for the rest with other seeds', async () => {
    const { server, policy } = await given();
    server.fail({ kind: 'fewer', choices: 2 }, { kind: 'fewer', choices: 1 });
    const acts = await policy.act(anActRequest({ n: 4 }), never);
    expect(acts.map((act) => act.response)).toEqual([
      'Thought: 1\nAction: a0',
      'Thought: 1\nAction: a1',
      'Thought: 3\nAction: a0',
      'Thought: 4\nAction: a0',
    ]);
    expect(server.requests.map((request) => [request.body?.n, request.body?.seed])).toEqual([
      [4, 1],
      [2, 3],
      [1, 4],
    ]);
  });

  test('a server that refuses more than one choice is asked one at a time with the remaining seeds, and never for more again', async () => {
    const { server, policy } = await given();
    server.fail({ kind: 'status', status: 400, body: '{"error":"n must be 1"}' });
    const acts = await policy.act(anActRequest({ n: 3 }), never);
    expect(acts).toHaveLength(3);
    expect(server.requests.map((request) => [request.body?.n, request.body?.seed])).toEqual([
      [3, 1],
      [1, 1],
      [1, 2],
      [1, 3],
    ]);
    await policy.act(anActRequest({ n: 2, seed: 9 }), never);
    expect(server.requests.slice(4).map((request) => [request.body?.n, request.body?.seed])).toEqual([
      [1, 9],
      [1, 10],
    ]);
  });

  test('a server that refuses another field refuses the single request too, and is asked for several the next time', async () => {
    const { server, policy } = await given();
    const refusal = { kind: 'status', status: 400, body: '{"error":"unknown field return_token_ids"}' } as const;
    server.fail(refusal, refusal);
    await expect(policy.act(anActRequest({ n: 2 }), never)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('unknown field return_token_ids'),
    });
    await policy.act(anActRequest({ n: 2 }), never);
    expect(server.requests.map((request) => request.body?.n)).toEqual([2, 1, 2]);
  });

  test('lengths that do not add up to the total of the server are not guessed', async () => {
    const { server, policy } = await given();
    const choice = { message: { content: 'hi' }, logprobs: { content: [{ token: 'hi', logprob: -1 }] } };
    server.fail({
      kind: 'body',
      body: JSON.stringify({ choices: [choice, choice], usage: { prompt_tokens: 3, completion_tokens: 9 } }),
    });
    const acts = await policy.act(anActRequest({ n: 2 }), never);
    expect(acts.map((act) => act.usage)).toEqual([null, null]);
    expect(acts[0]).toMatchObject({
      finishReason: null,
      call: { usage: { promptTokens: 3, completionTokens: 9 }, responseId: null, model: null },
    });
  });

  test('ids without matching log-probabilities are kept alone', async () => {
    const { server, policy } = await given();
    const choice = { message: { content: null }, token_ids: [1, 2], logprobs: { content: [{ token: 'x', logprob: -1 }] } };
    server.fail({ kind: 'body', body: JSON.stringify({ choices: [choice] }) });
    expect((await policy.act(anActRequest(), never))[0]).toMatchObject({
      response: '',
      tokens: { ids: [1, 2], logProbs: null },
      usage: null,
    });
  });
});

describe('failing model servers', () => {
  test.each([408, 409, 429, 500, 502, 503])('status %i is retried with growing waits', async (status) => {
    const { server, policy, waits } = await given();
    server.fail({ kind: 'status', status }, { kind: 'status', status });
    const [act] = await policy.act(anActRequest(), never);
    expect(act?.call?.attempts).toBe(3);
    expect(waits).toEqual([250, 500]);
    expect(new Set(server.requests.map((request) => request.text)).size).toBe(1);
  });

  test('a reset connection is retried, before the answer or within it', async () => {
    const { server, policy } = await given();
    server.fail({ kind: 'reset', when: 'before-headers' }, { kind: 'reset', when: 'within-body' });
    expect((await policy.act(anActRequest(), never))[0]?.call?.attempts).toBe(3);
  });

  test('Retry-After is a lower bound of the wait, in seconds, as a date, or in milliseconds', async () => {
    const { server, policy, waits } = await given();
    server.fail(
      { kind: 'status', status: 429, headers: { 'retry-after': '7' } },
      { kind: 'status', status: 429, headers: { 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' } },
      { kind: 'status', status: 429, headers: { 'retry-after-ms': '1500.5' } },
      { kind: 'status', status: 429, headers: { 'retry-after': '0' } },
    );
    await policy.act(anActRequest(), never);
    expect(waits).toEqual([7_000, 9_000, 1_500.5, 2_000]);
  });

  test('a pause longer than two minutes is not waited for', async () => {
    const { server, policy, waits } = await given();
    server.fail({ kind: 'status', status: 429, headers: { 'retry-after': '3600' } });
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'unreachable',
      retryable: true,
      message: expect.stringContaining('asks to wait 3600 s'),
    });
    expect(waits).toEqual([]);
  });

  test('a request fails after its last attempt and reports what that one met', async () => {
    const { server, policy, waits } = await given({}, { attempts: 3 });
    server.fail(...Array.from({ length: 3 }, () => ({ kind: 'status', status: 503, body: '{"message":"loading"}' }) as const));
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'unreachable',
      retryable: true,
      message: expect.stringContaining('3 of 3 attempts (status 503: loading)'),
    });
    expect(server.requests).toHaveLength(3);
    expect(waits).toHaveLength(2);
  });

  test('a missing server is named with the reason', async () => {
    const { server, policy } = await given({}, { attempts: 2 });
    await server.close();
    open.length = 0;
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('a silent server is given up after the time limit, and retried', async () => {
    const { server, policy } = await given({}, { timeoutMs: 50 });
    server.fail({ kind: 'silent' });
    expect((await policy.act(anActRequest(), never))[0]?.call?.attempts).toBe(2);
  });

  test('an abort ends a request in flight with its own reason, and nothing is sent after it', async () => {
    const { server, policy } = await given();
    server.fail({ kind: 'silent' });
    const stop = new AbortController();
    const asked = policy.act(anActRequest(), stop.signal);
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error('run cancelled'));
    await expect(asked).rejects.toThrow('run cancelled');
    expect(server.requests).toHaveLength(1);
    await expect(policy.act(anActRequest(), stop.signal)).rejects.toThrow('run cancelled');
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    [{ apiKey: 'sk-other' }, {}, 'status 401: Incorrect API key provided.; check the API key'],
    [{}, { model: 'lama' }, 'status 404: The model `lama` does not exist.; check the model'],
    [{}, { stop: ['a'], topP: 7 }, 'status 400'],
  ])('a final refusal is not retried and keeps the words of the server (%j)', async (server, options, message) => {
    const { policy, waits, server: started } = await given({ model: 'qwen', ...server }, options);
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'refused',
      retryable: false,
      message: expect.stringContaining(message),
    });
    expect(started.requests).toHaveLength(1);
    expect(waits).toEqual([]);
  });

  test('no message contains the key', async () => {
    const { policy } = await given({ apiKey: 'sk-right' }, { apiKey: 'sk-wrong' });
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({ message: expect.not.stringContaining('sk-wrong') });
  });

  test.each([
    ['no JSON', '<html>busy</html>', 'not JSON: "<html>busy</html>"'],
    ['no choices', '{"choices":[]}', 'no chat completion: choices'],
    ['an odd shape', '{"choices":[{"message":"hi"}]}', 'no chat completion: choices.0.message'],
    ['an error under status 200', '{"error":{"message":"engine dead"}}', 'an error inside: engine dead'],
  ])('a body with %s is a protocol error', async (_, body, message) => {
    const { server, policy } = await given();
    server.fail({ kind: 'body', body });
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'protocol',
      message: expect.stringContaining(message),
    });
    expect(server.requests).toHaveLength(1);
  });

  test('an answer above the size limit is refused', async () => {
    const { server, policy } = await given({}, { maxResponseBytes: 1_000 });
    server.fail({ kind: 'body', body: `{"id":"${'x'.repeat(2_000)}"}` });
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'protocol',
      message: expect.stringContaining('1000 bytes'),
    });
  });
});

describe('prompts longer than the context', () => {
  const head = [anActRequest().instruction, anActRequest().firstObservation].flatMap(tokensOf).length;

  test('a prompt loses its oldest turns when the server asks for it, and the act records which', async () => {
    const { server, policy, waits } = await given({ contextTokens: head + 6 * 4 + 10 }, { maxTokens: 10 });
    const [act] = await policy.act(anActRequest({ history: turns(12) }), never);
    expect(server.requests.map((request) => request.body?.messages.length)).toEqual([26, 20, 14]);
    expect(server.requests.at(-1)?.body?.messages.slice(0, 3)).toEqual([
      { role: 'system', content: anActRequest().instruction },
      { role: 'user', content: anActRequest().firstObservation },
      { role: 'assistant', content: 'Action: act6' },
    ]);
    expect(act?.call).toMatchObject({ trimmed: { from: 0, to: 6 }, attempts: 1 });
    expect(waits).toEqual([]);
  });

  test('a prompt whose head and newest turn are too long fails with the reason', async () => {
    const { server, policy } = await given({ contextTokens: head });
    await expect(policy.act(anActRequest({ history: turns(3) }), never)).rejects.toMatchObject({
      code: 'context-overflow',
      message: expect.stringMatching(/newest turn alone are too long.*maximum context length/s),
    });
    expect(server.requests).toHaveLength(3);
  });

  test('a prompt is trimmed before sending where a limit is set', async () => {
    const countTokens = (message: { content: string }): number => tokensOf(message.content).length;
    const { server, policy } = await given({}, { maxPromptTokens: head + 8, countTokens });
    const [act] = await policy.act(anActRequest({ history: turns(5) }), never);
    expect(server.requests.map((request) => request.body?.messages.length)).toEqual([6]);
    expect(act?.call?.trimmed).toEqual({ from: 0, to: 3 });
    const tight = openAiPolicy({ baseUrl: server.url, model: 'qwen', maxPromptTokens: head - 1, countTokens });
    await expect(tight.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'context-overflow',
      message: expect.stringContaining('maxPromptTokens'),
    });
  });

  test.each([
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens in the messages, Please reduce the length of the messages.",
    'The decoder prompt (length 9000) is longer than the maximum model length of 8192.',
    'max_tokens must be at least 1, got -186.',
  ])('the message "%s" of another server is recognised', async (message) => {
    const { server, policy } = await given();
    server.fail({
      kind: 'status',
      status: 400,
      body: JSON.stringify({ object: 'error', message, type: 'BadRequestError', code: 400 }),
    });
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({ code: 'context-overflow' });
  });
});

describe('back-off', () => {
  test('the wait doubles from half a second to half a minute, and jitter removes at most half', () => {
    expect([1, 2, 3, 6, 7, 20].map((attempt) => backoffMs(attempt, 0))).toEqual([250, 500, 1_000, 8_000, 15_000, 15_000]);
    expect([1, 7].map((attempt) => backoffMs(attempt, 1 - 2 ** -53))).toEqual([500, 30_000]);
  });

  test('a Retry-After in the past or without a time is not waited for', () => {
    const read = (value: string) => retryAfterMs((name) => new Headers({ 'retry-after': value }).get(name), Date.UTC(2026, 0, 1));
    expect([read('Wed, 31 Dec 2025 00:00:00 GMT'), read('soon'), read('1.5')]).toEqual([0, null, 1_500]);
    expect(retryAfterMs(() => null, 0)).toBeNull();
  });
});
