import { afterEach, describe, expect, test } from '@jest/globals';
import { textsByEnds } from '../domain/text/texts-by-ends.ts';
import { anActRequest } from '../testing/act-request.ts';
import { closeOpenAiServers, givenOpenAiPolicy, someTurns } from '../testing/given-openai-policy.ts';
import { tokenEntropy, tokenId, tokenLogProb, tokensOf } from '../testing/openai-server.ts';
import { openAiPolicy } from './openai-policy.ts';

const never = new AbortController().signal;
afterEach(closeOpenAiServers);

describe('requests to the model server', () => {
  test('a request carries the prompt, the sampling settings and the key, and asks for token ids', async () => {
    const { server, policy } = await givenOpenAiPolicy(
      { apiKey: 'sk-1', model: 'qwen' },
      { apiKey: 'sk-1', sampling: { topP: 0.9 }, maxTokens: 50, stop: ['Observation:'] },
    );
    await policy.act(anActRequest({ n: 2, seed: 2 ** 31 + 5, temperature: 0.7, history: someTurns(1) }), never);
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
      top_k: -1,
      min_p: 0,
      repetition_penalty: 1,
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
    const { server, policy } = await givenOpenAiPolicy({}, { tokenIds: 'none' });
    await policy.act(anActRequest(), never);
    expect(Object.keys(JSON.parse(server.requests[0]?.text ?? ''))).toEqual(['model', 'messages', 'temperature', 'n', 'seed']);
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });

  test('a request asks for the whole distribution of the model, whatever its generation config says, and records that', async () => {
    const { server, policy } = await givenOpenAiPolicy({}, { sampling: { topK: 20 } });
    const [act] = await policy.act(anActRequest({ temperature: 0.7 }), never);
    const asked = { temperature: 0.7, top_p: 1, top_k: 20, min_p: 0, repetition_penalty: 1 };
    expect(JSON.parse(server.requests[0]?.text ?? '')).toMatchObject(asked);
    expect(act?.asked?.sampling).toMatchObject({ temperature: 0.7, topP: 1, topK: 20, minP: 0, repetitionPenalty: 1 });
  });

  test.each([
    [0.7, { do_sample: true, top_p: 1, top_k: 0, min_p: 0, repetition_penalty: 1 }],
    [0, { do_sample: false, repetition_penalty: 1 }],
  ])('transformers serve is asked for the same by a generation config at temperature %d', async (temperature, config) => {
    const { server, policy } = await givenOpenAiPolicy({}, { dialect: 'transformers' });
    const [act] = await policy.act(anActRequest({ temperature }), never);
    const { generation_config: sent, ...body } = JSON.parse(server.requests[0]?.text ?? '');
    expect(JSON.parse(sent)).toEqual(config);
    expect(Object.keys(body)).toEqual(['model', 'messages', 'temperature', 'max_tokens', 'n', 'seed']);
    expect(act?.asked?.sampling).toMatchObject({ temperature, topP: 1, topK: -1, maxTokens: 1_024 });
  });

  test('a request contains the history as recorded, with half surrogates and NUL replaced', async () => {
    const { server, policy } = await givenOpenAiPolicy();
    await policy.act(anActRequest({ history: [{ response: 'Action: \ud83d', action: 'a', observation: 'x\0y' }] }), never);
    expect(server.requests[0]?.body?.messages.slice(2).map((message) => message.content)).toEqual(['Action: \ufffd', 'x\ufffdy']);
  });

  test('the instruction moves into the first user message for models without a system role', async () => {
    const { server, policy } = await givenOpenAiPolicy({}, { systemRole: 'merged' });
    await policy.act(anActRequest({ history: someTurns(1) }), never);
    expect(server.requests[0]?.body?.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'user']);
  });
});

describe('acts of an answer', () => {
  test('the acts are the choices in order, with the call that produced them', async () => {
    const { server, policy } = await givenOpenAiPolicy({ model: 'qwen' });
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
      asked: {
        messages: server.requests[0]?.body?.messages.map(({ role, content }) => ({
          role,
          parts: [{ kind: 'text', text: content }],
        })),
        model: 'qwen',
        tools: null,
        sampling: {
          temperature: 1,
          topP: 1,
          topK: -1,
          minP: 0,
          repetitionPenalty: 1,
          maxTokens: null,
          stop: [],
          seed: 1,
          others: [],
        },
        server: `${server.url}/chat/completions`,
        tokenIds: null,
      },
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
    'the acts hold the sampled ids and log-probabilities of the %s dialect, and the ends and entropies that it states',
    async (tokenIds) => {
      const { policy } = await givenOpenAiPolicy({ tokenIds, entropies: 'stated' });
      const [act] = await policy.act(anActRequest({ n: 2 }), never);
      const tokens = tokensOf('Thought: 1\nAction: a0');
      expect(act?.response).toBe('Thought: 1\nAction: a0');
      const { ends, ...said } = act?.tokens ?? {};
      expect(said).toEqual({
        ids: tokens.map(tokenId),
        logProbs: tokens.map((_, i) => tokenLogProb(i)),
        entropies: tokens.map((_, i) => tokenEntropy(i)),
      });
      if (tokenIds === 'token-text')
        expect(ends).toBeUndefined(); // ids stand in the place of texts
      else expect(textsByEnds(act?.response ?? '', ends ?? [])).toEqual(tokens);
    },
  );

  test('a reply cut at maxTokens ends as `length`, and one cut at a stop text as `stop`', async () => {
    const { policy } = await givenOpenAiPolicy({}, { maxTokens: 20, stop: ['Action:'] });
    expect((await policy.act(anActRequest(), never))[0]).toMatchObject({ response: 'Thought: 1\n', finishReason: 'stop' });
    const other = await givenOpenAiPolicy({}, { maxTokens: 2 });
    expect((await other.policy.act(anActRequest(), never))[0]).toMatchObject({
      response: 'Thought: 1',
      finishReason: 'length',
      usage: { completionTokens: 2 },
    });
  });

  test('a server that ignores n is asked for the rest with other seeds', async () => {
    const { server, policy } = await givenOpenAiPolicy();
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
    const { server, policy } = await givenOpenAiPolicy();
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
    const { server, policy } = await givenOpenAiPolicy();
    const refusal = { kind: 'status', status: 400, body: '{"error":"unknown field return_token_ids"}' } as const;
    server.fail(refusal, refusal);
    await expect(policy.act(anActRequest({ n: 2 }), never)).rejects.toMatchObject({
      code: 'refused',
      message: expect.stringContaining('unknown field return_token_ids'),
    });
    await policy.act(anActRequest({ n: 2 }), never);
    expect(server.requests.map((request) => request.body?.n)).toEqual([2, 1, 2]);
  });

  test('acts that train measure a server once, and its refusal of a key is told in its words and not kept', async () => {
    const { server, policy } = await givenOpenAiPolicy();
    const act = () => policy.act(anActRequest({ temperature: 0.7, trains: true }), never);
    server.fail({ kind: 'status', status: 401, body: '{"error":"wrong key"}' });
    const refused = await Promise.allSettled([act(), act()]);
    expect(refused).toMatchObject([1, 2].map(() => ({ reason: { message: expect.stringContaining('wrong key') } })));
    expect(server.requests).toHaveLength(1);
    await expect(act()).rejects.toThrow('does not show');
    expect(server.requests).toHaveLength(3);
  });

  test('lengths that do not add up to the total of the server are not guessed', async () => {
    const { server, policy } = await givenOpenAiPolicy();
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
    const { server, policy } = await givenOpenAiPolicy();
    const choice = { message: { content: null }, token_ids: [1, 2], logprobs: { content: [{ token: 'x', logprob: -1 }] } };
    server.fail({ kind: 'body', body: JSON.stringify({ choices: [choice] }) });
    expect((await policy.act(anActRequest(), never))[0]).toMatchObject({
      response: '',
      tokens: { ids: [1, 2], logProbs: null },
      usage: null,
    });
  });

  test.each([
    [
      'the texts of its parts',
      [
        { type: 'text', text: 'Action: ' },
        { type: 'output_text', text: 'act1' },
      ],
      'Action: act1',
    ],
    [
      'what follows its thinking',
      [
        { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
        { type: 'text', text: 'go' },
      ],
      'go',
    ],
    ['its thinking where it says nothing else', [{ type: 'thinking', thinking: 'hm' }], '<think>\nhm\n</think>'],
  ])('a reply in parts is %s', async (_, content, response) => {
    const { server, policy } = await givenOpenAiPolicy();
    server.fail({ kind: 'body', body: JSON.stringify({ choices: [{ message: { content } }] }) });
    expect((await policy.act(anActRequest(), never))[0]?.response).toBe(response);
  });
});
describe('prompts longer than the context', () => {
  const head = [anActRequest().instruction, anActRequest().firstObservation].flatMap(tokensOf).length;

  test('a prompt loses its oldest turns when the server asks for it, and the act records which', async () => {
    const { server, policy, waits } = await givenOpenAiPolicy({ contextTokens: head + 6 * 4 + 10 }, { maxTokens: 10 });
    const [act] = await policy.act(anActRequest({ history: someTurns(12) }), never);
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
    const { server, policy } = await givenOpenAiPolicy({ contextTokens: head });
    await expect(policy.act(anActRequest({ history: someTurns(3) }), never)).rejects.toMatchObject({
      code: 'context-overflow',
      message: expect.stringMatching(/newest turn alone are too long.*maximum context length/s),
    });
    expect(server.requests).toHaveLength(3);
  });

  test('a prompt is trimmed before sending where a limit is set', async () => {
    const countTokens = (message: { content: string }): number => tokensOf(message.content).length;
    const { server, policy } = await givenOpenAiPolicy({}, { maxPromptTokens: head + 8, countTokens });
    const [act] = await policy.act(anActRequest({ history: someTurns(5) }), never);
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
    const { server, policy } = await givenOpenAiPolicy();
    server.fail({
      kind: 'status',
      status: 400,
      body: JSON.stringify({ object: 'error', message, type: 'BadRequestError', code: 400 }),
    });
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({ code: 'context-overflow' });
  });
});
