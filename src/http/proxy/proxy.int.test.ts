import { describe, expect, test } from '@jest/globals';
import { messageText } from '../../domain/prompts/same-message.ts';
import { unpack } from '../../events/packed.ts';
import type { Packed } from '../../events/schemas/values.ts';
import { completion, type streamed } from '../../testing/upstream.ts';
import { assistant, proxyForTests, textOfTokens, user } from './proxy-testing.ts';

const { proxy, post, chat, end } = proxyForTests();

describe('calls of chat completions', () => {
  test('a call becomes a step with its token ids and log-probabilities, and its observation is what the next call adds', async () => {
    proxy.answer((body) => completion(body.messages?.length === 2 ? 'go north' : 'take lamp', body));
    const opening = [{ role: 'system', content: 'Play.' }, user('A hall.')];
    const first = await chat(opening, { temperature: 0.5, max_tokens: 9 });
    await chat([...opening, assistant('go north'), user('A desk.')]);
    expect(await end({ success: true, observation: 'Taken.', reward: 1 })).toMatchObject({ status: 200 });

    const { steps, runs, trees, rollouts, rewards, prompts, quarantined } = await proxy.recorded();
    expect(quarantined).toEqual([]);
    expect(runs).toMatchObject([{ name: 'run', kind: 'external' }]);
    expect(trees).toMatchObject([{ alias: 'task', instruction: 'Play.', environment: 'captured' }]);
    expect(steps).toMatchObject([
      { depth: 0, observation: 'A hall.' },
      { depth: 1, response: 'go north', observation: 'A desk.', termination: 'none', finishReason: 'stop' },
      { depth: 2, response: 'take lamp', observation: 'Taken.', termination: 'terminated' },
    ]);
    expect(steps.slice(1).map(({ tokens }) => textOfTokens(tokens))).toEqual(['go north', 'take lamp']);
    const { logProbs: packed } = { ...steps[1]?.tokens } as { logProbs?: Packed };
    const logProbs = packed && unpack(packed);
    expect(logProbs).toEqual([...Buffer.from('go north')].map((byte) => -byte / 256));
    expect(rollouts).toMatchObject([
      { ordinal: 0, outcome: 'terminated', success: true, steps: 2, leafStepId: steps[2]?.stepId },
    ]);
    expect(rewards).toEqual([{ stepId: null, rolloutId: rollouts[0]?.rolloutId, component: 'environment', value: 1 }]);
    const shown = prompts.get(steps[2]?.stepId ?? '');
    expect(shown?.messages.map(({ role, parts }) => [role, parts])).toEqual(
      [
        ['system', 'Play.'],
        ['user', 'A hall.'],
        ['assistant', 'go north'],
        ['user', 'A desk.'],
      ].map(([role, text]) => [role, [{ kind: 'text', text }]]),
    );
    expect(shown).toMatchObject({ model: 'served', sampling: { temperature: null, maxTokens: null } });
    expect(Buffer.from(shown?.tokenIds ?? []).toString()).toBe(
      JSON.stringify([...opening, assistant('go north'), user('A desk.')]),
    );
    expect(prompts.get(steps[1]?.stepId ?? '')).toMatchObject({
      sampling: { temperature: 0.5, maxTokens: 9 },
      server: proxy.upstream.url,
    });

    expect(first.json()).toMatchObject({
      choices: [{ message: assistant('go north'), logprobs: null }],
      usage: { completion_tokens: 8 },
    });
    expect(first.text).not.toMatch(/token_id|prompt_token_ids/);
    expect(proxy.upstream.requests[0]).toMatchObject({
      headers: { authorization: 'Bearer sk-of-upstream' },
      body: { logprobs: true, return_token_ids: true, messages: opening },
    });
  });

  test('what an agent asks for itself stays in its answer', async () => {
    proxy.answer((body) => completion('a', body));
    const { text } = await chat([user('q')], { logprobs: true });
    expect(text).toContain('token_id:97');
    expect(proxy.upstream.requests[0]?.body).not.toHaveProperty('return_tokens_as_token_ids');
  });

  test('a stream is passed on part by part, without what was asked for besides, and recorded whole', async () => {
    let more: (() => void) | undefined;
    const open = new Promise<void>((resolve) => {
      more = resolve;
    });
    proxy.answer(async (body, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write('data: {"id":"s","choices":[{"index":0,"delta":{"content":"early "},"finish_reason":null}]}\n\n');
      await open;
      streamedRest(body, res);
    });
    const response = await fetch(`${proxy.url}/v1/proxy/run/task/0/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'served', messages: [user('q')], stream: true }),
    });
    const reader = response.body?.getReader();
    const part = await reader?.read();
    expect(Buffer.from(part?.value ?? []).toString()).toContain('early '); // before the model server goes on
    more?.();
    let rest = '';
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read())
      rest += Buffer.from(read.value).toString();
    expect(rest).toMatch(/"content":"late"[\s\S]*data: \[DONE\]\n\n$/);
    expect(rest).not.toMatch(/token_id|"usage"/);
    await end();
    const { steps, calls } = await proxy.recorded();
    expect(steps[1]).toMatchObject({ response: 'early late', completionTokens: 2 });
    expect(textOfTokens(steps[1]?.tokens ?? null)).toBe('xy');
    expect(calls).toMatchObject([{ outcome: 'answered', timings: { firstMs: expect.any(Number) } }]);
  });

  test('calls of tools and their results are recorded with the schemas that were shown', async () => {
    const tools = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object' } } }];
    const toolCalls = [{ id: 'call-1', type: 'function', function: { name: 'weather', arguments: '{"city": "Ulm"}' } }];
    proxy.answer((body) =>
      body.messages?.length === 1 ? completion('', body, { content: null, tool_calls: toolCalls }) : completion('Rain.', body),
    );
    await chat([user('Weather?')], { tools });
    const result = { role: 'tool', tool_call_id: 'call-1', content: 'rain' };
    await chat([user('Weather?'), { role: 'assistant', content: null, tool_calls: toolCalls }, result], { tools });
    await end();
    const { steps, tools: called, prompts, quarantined } = await proxy.recorded();
    expect(quarantined).toEqual([]);
    expect(called).toMatchObject([{ tool: 'weather', arguments: '{"city": "Ulm"}', output: 'rain', stepId: steps[1]?.stepId }]);
    expect(steps.slice(1)).toMatchObject([
      {
        response: '',
        reply: { reasoning: false, toolCalls: [{ id: 'call-1', name: 'weather', arguments: '{"city": "Ulm"}' }] },
        action: 'weather {"city": "Ulm"}',
        observation: 'rain',
      },
      { response: 'Rain.', depth: 2 },
    ]);
    expect(prompts.get(steps[2]?.stepId ?? '')?.tools).toBe(JSON.stringify(tools));
    expect(prompts.get(steps[2]?.stepId ?? '')?.messages).toEqual([
      { role: 'user', parts: [{ kind: 'text', text: 'Weather?' }] },
      { role: 'assistant', parts: [{ kind: 'tool-call', id: 'call-1', name: 'weather', arguments: '{"city": "Ulm"}' }] },
      { role: 'tool', toolCallId: 'call-1', parts: [{ kind: 'text', text: 'rain' }] },
    ]);
  });

  test('a call goes on along the path when its program masked earlier results, stripped thinking and wrote arguments again', async () => {
    const called = (id: string, given: string) => ({
      tool_calls: [{ id, type: 'function', function: { name: 'bash', arguments: given } }],
    });
    proxy.answer((body) => {
      const turn = (body.messages?.length ?? 0) >> 1;
      return turn < 2 ? completion(`<think>turn ${turn}</think>look`, body, called(`c${turn}`, '')) : completion('Fixed.', body);
    });
    const asked = (id: string) => ({ role: 'assistant', content: 'look', ...called(id, '{}') });
    const result = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content });
    await chat([user('Fix it.')]);
    await chat([user('Fix it.'), asked('c0'), result('c0', 'a.py')]);
    await chat([user('Fix it.'), asked('c0'), result('c0', '(elided)'), asked('c1'), result('c1', 'print(1)')]);
    await end();
    const { calls, rollouts, steps } = await proxy.recorded();
    expect(calls.map(({ place }) => place)).toEqual(['path', 'path', 'path']);
    expect(rollouts).toMatchObject([{ steps: 3 }]);
    expect(steps.map(({ observation }) => observation)).toEqual(['Fix it.', 'a.py', 'print(1)', '']);
  });

  test('a server that was started again finds the place of a call by the ids of its calls of tools', async () => {
    const calls = [{ id: 'c0', type: 'function', function: { name: 'bash', arguments: '{}' } }];
    proxy.answer((body) =>
      (body.messages?.length ?? 0) < 2 ? completion('look', body, { tool_calls: calls }) : completion('Fixed.', body),
    );
    await chat([user('Fix it.')]);
    await proxy.recorded(); // what was captured is folded
    const base = await proxy.restart();
    const result = { role: 'tool', tool_call_id: 'c0', content: 'a.py' };
    const messages = [user('Summary: you looked.'), result]; // the reply itself was cut from the window
    expect(await post('/run/task/0/chat/completions', { model: 'served', messages }, { base })).toMatchObject({ status: 200 });
    expect(await (await post('/run/task/0/end', {}, { base })).json()).toMatchObject({ unclearCalls: 0 });
    const { calls: captured, steps } = await proxy.recorded();
    expect(captured.map(({ place }) => place)).toEqual(['path', 'path']);
    expect(steps.map(({ observation }) => observation)).toEqual(['Fix it.', 'a.py', '']);
  });

  test('calls that may belong to the path and lie next to it are marked, and counted with the end, its repetition and the rollout', async () => {
    const calls = [{ id: 'c', type: 'function', function: { name: 'bash', arguments: '{}' } }];
    proxy.answer((body) => completion('look', body, { tool_calls: calls })); // the same id each time: it names no reply
    await chat([user('Fix it.')]);
    await chat([user('Fix it.'), assistant('I looked'), user('a.py')]);
    await chat([user('Summary: you looked.')]);
    expect(await (await end()).json()).toMatchObject({ appended: true, unclearCalls: 2 });
    expect(await (await end()).json()).toMatchObject({ appended: false, unclearCalls: 2 });
    const recorded = await proxy.recorded();
    expect(recorded.calls.map(({ place, unclear }) => [place, unclear])).toEqual([
      ['path', undefined],
      ['branch', 'altered-history'],
      ['branch', 'tools-waiting'],
    ]);
    expect(recorded.rollouts).toMatchObject([{ steps: 1, unclearCalls: 2 }]);
  });

  test('a call that begins as an earlier one is that of a sub-agent where the path goes on from the reply that was open', async () => {
    const calls = [{ id: 'c', type: 'function', function: { name: 'ask', arguments: '{}' } }];
    proxy.answer((body) => completion('look', body, body.messages?.length === 1 ? { tool_calls: calls } : {}));
    const asks = { role: 'assistant', content: 'look', tool_calls: calls };
    await chat([user('Fix it.')]);
    await chat([user('Fix it.'), user('You are the helper.')]);
    await chat([user('Fix it.'), asks, { role: 'tool', tool_call_id: 'c', content: 'helped' }]);
    expect(await (await end()).json()).toMatchObject({ unclearCalls: 0 });
    const recorded = await proxy.recorded();
    expect(recorded.calls.map(({ place, unclear }) => [place, unclear])).toEqual([
      ['path', undefined],
      ['branch', 'altered-history'],
      ['path', undefined],
    ]);
  });

  test('log-probabilities without token ids are kept with their call, under the tokens as the server names them', async () => {
    const logprobs = {
      content: [
        { token: 'Go', logprob: -0.5 },
        { token: ' on', logprob: -0.25 },
      ],
    };
    proxy.answer(() => ({ id: 'a', choices: [{ index: 0, finish_reason: 'stop', message: assistant('Go on'), logprobs }] }));
    await chat([user('q')]);
    await end();
    const { calls, steps } = await proxy.recorded();
    expect(calls[0]?.choices).toMatchObject([{ tokens: null, namedTokens: '[["Go",-0.5],[" on",-0.25]]' }]);
    expect(steps[1]?.tokens).toBeNull();
  });

  test('the conversation of a sub-agent lies next to the path, in its own order', async () => {
    const call = [{ id: 'c', type: 'function', function: { name: 'ask', arguments: '{}' } }];
    proxy.answer((body) => {
      if (body.messages?.[0]?.content === 'sub') return completion(body.messages.length > 1 ? 'sub done' : 'sub first', body);
      return body.messages?.length === 1
        ? completion('', body, { content: null, tool_calls: call })
        : completion('main done', body);
    });
    await chat([user('main')]);
    await chat([user('sub')]);
    await chat([user('sub'), assistant('sub first'), user('more')]);
    await chat([
      user('main'),
      { role: 'assistant', content: null, tool_calls: call },
      { role: 'tool', tool_call_id: 'c', content: 'sub done' },
    ]);
    await end({ success: true });
    const { steps, rollouts, calls, quarantined } = await proxy.recorded();
    expect(quarantined).toEqual([]);
    const [root] = steps;
    const of = (action: string) => steps.find((step) => step.action.startsWith(action));
    expect(calls.map(({ place, ordinal }) => [ordinal, place])).toEqual([
      [0, 'path'],
      [1, 'branch'],
      [2, 'branch'],
      [3, 'path'],
    ]);
    expect(of('sub first')).toMatchObject({ parentStepId: root?.stepId, rolloutId: null, observation: 'more' });
    expect(of('sub done')).toMatchObject({ parentStepId: of('sub first')?.stepId, rolloutId: null });
    expect(of('main done')).toMatchObject({
      parentStepId: of('ask {}')?.stepId,
      rolloutId: rollouts[0]?.rolloutId,
      depth: 2,
    });
    expect(rollouts).toMatchObject([{ steps: 2, leafStepId: of('main done')?.stepId }]);
  });

  test('an agent that writes each prompt from the start goes on along the path, and one that hands over keeps its conversation', async () => {
    proxy.answer((body) => completion(`reply ${body.messages?.length}`, body));
    await chat([user('first prompt')]);
    await chat([user('second prompt')]);
    await chat([{ role: 'system', content: 'other agent' }, user('second prompt'), assistant('reply 1'), user('go on')]);
    await end();
    const { steps, rollouts } = await proxy.recorded();
    expect(steps.map(({ depth, observation }) => [depth, observation])).toEqual([
      [0, 'first prompt'],
      [1, 'second prompt'],
      [2, 'go on'],
      [3, ''],
    ]);
    expect(rollouts).toMatchObject([{ steps: 3 }]);
  });

  test('the reply that is continued becomes the step of the path, the other replies to the conversation lie next to it', async () => {
    let asked = 0;
    proxy.answer((body) => completion(`reply ${++asked}`, body));
    await Promise.all([chat([user('q')]), chat([user('q')])]);
    await chat([user('q'), assistant('reply 1'), user('on')]);
    await end();
    const { steps, rollouts } = await proxy.recorded();
    const of = (response: string) => steps.find((step) => step.response === response);
    expect(of('reply 1')).toMatchObject({ depth: 1, rolloutId: rollouts[0]?.rolloutId });
    expect(of('reply 2')).toMatchObject({ depth: 1, rolloutId: null });
    expect(of('reply 3')).toMatchObject({ depth: 2, parentStepId: of('reply 1')?.stepId });
  });
});

test('the responses protocol is recorded too, whole and streamed, continued by its items or by the id of a response', async () => {
  const response = (text: string) => ({
    id: `resp-${text}`,
    object: 'response',
    status: 'completed',
    model: 'served',
    usage: { input_tokens: 5, output_tokens: 2 },
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }],
  });
  proxy.answer((body, res) => {
    if (!body.stream) return response(body.previous_response_id === undefined ? 'one' : 'two');
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(`event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"three"}\n\n`);
    res.end(
      `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response: response('three') })}\n\n`,
    );
    return undefined;
  });
  const respond = (body: object) => post('/run/task/0/responses', { model: 'served', ...body });
  await respond({ input: 'q', instructions: 'Be brief.' });
  await respond({ input: [user('go on')], previous_response_id: 'resp-one' });
  const streamedText = (await respond({ input: [user('go on'), response('two').output[0], user('last')], stream: true })).text;
  expect(streamedText).toMatch(/"delta":"three"[\s\S]*response.completed/);
  await end();
  const { steps, trees, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(trees).toMatchObject([{ instruction: 'Be brief.' }]);
  expect(steps.map(({ response: said, observation }) => [said, observation])).toEqual([
    ['', 'q'],
    ['one', 'go on'],
    ['two', 'last'],
    ['three', ''],
  ]);
});

test('a call that continues a response of before the rollout is unclear, and the prompt of one that continues a recorded response holds it', async () => {
  proxy.answer((body) => ({
    id: body.input === 'q' ? 'resp-1' : 'resp-2',
    object: 'response',
    status: 'completed',
    output: [
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `to ${JSON.stringify(body.input)}` }] },
    ],
  }));
  const respond = (body: object, rollout: number) => post(`/run/task/${rollout}/responses`, { model: 'served', ...body });
  await respond({ input: 'q', previous_response_id: 'resp-of-yesterday' }, 0);
  await respond({ input: 'on', previous_response_id: 'resp-1' }, 0);
  await respond({ input: 'q', instructions: 'Be brief.' }, 1);
  await respond({ input: 'on', instructions: 'Be long.', previous_response_id: 'resp-1' }, 1);
  await respond({ input: 'elsewhere', previous_response_id: 'resp-of-yesterday' }, 1);
  for (const rollout of [0, 1]) await end({}, `/run/task/${rollout}`);
  const { rollouts, calls, prompts, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(rollouts).toMatchObject([
    { steps: 2, unclearCalls: 1, lostParts: 0 },
    { steps: 2, unclearCalls: 1, lostParts: 0 },
  ]);
  expect(calls.map(({ place, unclear }) => [place, unclear])).toEqual([
    ['path', 'unrecorded-reply'],
    ['path', undefined],
    ['path', undefined],
    ['path', undefined],
    ['branch', 'unrecorded-reply'],
  ]);
  const texts = prompts.get(calls[3]?.stepId ?? '')?.messages.map((message) => [message.role, messageText(message)]);
  expect(texts).toEqual([
    ['system', 'Be long.'],
    ['user', 'q'],
    ['assistant', 'to "q"'],
    ['user', 'on'],
  ]);
});

test('messages of an input are carried over to the response that continues it, in their places, and instructions are not, also after a restart', async () => {
  proxy.answer(() => {
    const n = proxy.upstream.requests.length;
    const content = [{ type: 'output_text', text: `answer ${n}` }];
    return {
      id: `resp-${n}`,
      object: 'response',
      status: 'completed',
      output: [{ type: 'message', role: 'assistant', content }],
    };
  });
  const told = (content: string) => ({ role: 'developer', content });
  const respond = (body: object, base = proxy.url) => post('/run/task/0/responses', { model: 'served', ...body }, { base });
  await respond({ instructions: 'Be brief.', input: [told('Use metres.'), user('q')] });
  await respond({ previous_response_id: 'resp-1', input: 'go on' });
  const base = await proxy.restart();
  await respond({ previous_response_id: 'resp-2', instructions: 'Be long.', input: [user('why'), told('Use feet.')] }, base);
  await respond({ previous_response_id: 'resp-1', input: 'again' }, base);
  await post('/run/task/0/end', {}, { base });
  const { rollouts, calls, prompts, quarantined } = await proxy.recorded();
  expect(quarantined).toEqual([]);
  expect(rollouts).toMatchObject([{ steps: 3, unclearCalls: 0, lostParts: 0 }]);
  const texts = calls.map(({ stepId }) => prompts.get(stepId ?? '')?.messages.map((message) => messageText(message)));
  expect(texts).toEqual([
    ['Be brief.', 'Use metres.', 'q'],
    ['Use metres.', 'q', 'answer 1', 'go on'],
    ['Be long.', 'Use metres.', 'q', 'answer 1', 'go on', 'answer 2', 'why', 'Use feet.'],
    ['Use metres.', 'q', 'answer 1', 'again'],
  ]);
});

function streamedRest(body: { readonly [field: string]: unknown }, res: Parameters<typeof streamed>[2]): void {
  const part = (choice: object) => res.write(`data: ${JSON.stringify({ id: 's', choices: [choice] })}\n\n`);
  const logprobs = { content: [120, 121].map((id) => ({ token: `token_id:${id}`, logprob: -1 })) };
  part({ index: 0, delta: { content: 'late' }, finish_reason: null, logprobs, token_ids: [120, 121] });
  part({ index: 0, delta: {}, finish_reason: 'stop' });
  if (body.stream_options) res.write('data: {"id":"s","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\n');
  res.end('data: [DONE]\n\n');
}
