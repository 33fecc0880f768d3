import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { PolicyMessage } from '../src/domain/prompts/policy-prompt.ts';
import { pack, unpack } from '../src/events/packed.ts';
import { blockDigest, promptDigest } from '../src/events/prompt-digest.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { recordDrawnHistories } from '../src/testing/record-drawn-histories.ts';
import { recordMessages } from '../src/testing/record-messages.ts';
import { recordTwinImages, recordTwinSteps } from '../src/testing/record-twin-images.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

let api: TestGraphql;
beforeAll(async () => {
  api = await openTestGraphql();
});
afterAll(() => api.close());

const SAMPLING = {
  temperature: 0.7,
  topP: null,
  topK: 20,
  minP: null,
  repetitionPenalty: null,
  maxTokens: 64,
  stop: [],
  seed: 3,
  others: [{ name: 'response_format', value: '{"type":"json_object"}' }],
};
const text = (role: PolicyMessage['role'], words: string): PolicyMessage => ({ role, parts: [{ kind: 'text', text: words }] });

/** A rollout of three steps: a prompt with its history as an image, one that continues it, and one that drifts from it. */
async function given(name: string, change: { readonly sha256?: string } = {}) {
  const builder = new EventBuilder(name);
  const runId = builder.run();
  const tree = builder.tree(runId);
  const tokens = { ids: pack('int32', [8, 9]), logProbs: null, mask: null };
  const rolloutId = builder.rollout(tree);
  const steps: string[] = [];
  for (const depth of [1, 2, 3])
    steps.push(builder.step(tree, rolloutId, steps.at(-1) ?? tree.rootStepId, depth, { tokens, response: `reply ${depth}` }));
  const [first = '', second = '', third = ''] = steps;
  const { imageIds } = recordDrawnHistories(builder, tree, steps, { records: ['a hall'], factors: [1, 1, 1] });
  const imageId = imageIds[0] ?? '';
  const begin: PolicyMessage[] = [
    {
      role: 'user',
      parts: [
        { kind: 'image', imageId },
        { kind: 'text', text: 'Act é🌳.\n' },
      ],
    },
  ];
  const next = [...begin, text('assistant', 'reply 1'), text('user', 'Go on.')];
  const shown = { treeId: tree.treeId, template: null, tools: null, sampling: SAMPLING, server: 'http://server/v1', blocks: [] };
  const of = (words: string) => ({ kind: 'text' as const, blocks: [blockDigest(words)] });
  builder.record(
    'PromptShown',
    {
      ...shown,
      stepId: first,
      base: null,
      blocks: ['Act é🌳.\n'],
      sha256: promptDigest(begin),
      messages: [{ role: 'user', parts: [{ kind: 'image', imageId }, of('Act é🌳.\n')] }],
      tokens: { before: 0, keep: 0, ids: pack('int32', [1, 2, 3]) },
    },
    runId,
  );
  builder.record(
    'PromptShown',
    {
      ...shown,
      stepId: second,
      base: { stepId: first, messages: 1 },
      blocks: ['Go on.'],
      sha256: change.sha256 ?? promptDigest(next),
      messages: [
        { role: 'assistant', parts: [{ kind: 'step', stepId: first, field: 'response' }] },
        { role: 'user', parts: [of('Go on.')] },
      ],
      tokens: { before: 5, keep: 5, ids: pack('int32', [4]) },
    },
    runId,
  );
  builder.record(
    'PromptShown',
    {
      ...shown,
      stepId: third,
      base: { stepId: second, messages: 3 },
      sha256: promptDigest(next),
      messages: [],
      tokens: { before: 8, keep: 6, ids: pack('int32', [7, 7]) },
    },
    runId,
  );
  await givenEvents(api.database.db, builder.events);
  return { runId, steps, imageId };
}

const QUERY = `query ($id: ID!) { step(id: $id) { prompt {
  sha256 server template { name version } tools sampling { temperature topP topK minP repetitionPenalty maxTokens stop seed others { name value } }
  messages { role parts { text image { id url } } } tokens { ids { dtype length base64 } before kept }
} } }`;

test('the prompt of a step shows its messages, images, sampling parameters and token ids', async () => {
  const { steps, imageId } = await given('shown');
  const { data, errors } = await api.ask(QUERY, { id: steps[1] });
  expect(errors).toBeUndefined();
  const { messages, tokens, ...prompt } = data.step.prompt;
  expect(messages).toEqual([
    {
      role: 'user',
      parts: [
        { text: null, image: { id: imageId, url: `/images/${imageId}.png` } },
        { text: 'Act é🌳.\n', image: null },
      ],
    },
    { role: 'assistant', parts: [{ text: 'reply 1', image: null }] },
    { role: 'user', parts: [{ text: 'Go on.', image: null }] },
  ]);
  expect(unpack({ ...tokens.ids, bytes: tokens.ids.base64 })).toEqual([1, 2, 3, 8, 9, 4]);
  expect([tokens.before, tokens.kept]).toEqual([5, 5]);
  expect(prompt).toMatchObject({ server: 'http://server/v1', template: null, tools: null, sampling: SAMPLING });
});

test('a run counts the steps whose prompt drifts from the tokens before, and names the first', async () => {
  const { runId, steps } = await given('drift');
  const { data } = await api.ask('query ($id: ID!) { run(id: $id) { drift { steps firstStep { id } } } }', { id: runId });
  expect(data.run.drift).toEqual({ steps: 1, firstStep: { id: steps[2] } });
});

test('a prompt that differs from its recorded digest is an error that names the step', async () => {
  const { steps } = await given('differs', { sha256: 'f'.repeat(64) });
  const { data, errors } = await api.ask(QUERY, { id: steps[1] });
  expect(data.step.prompt).toBeNull();
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'PROMPT_UNREADABLE', stepId: steps[1] });
  expect(errors?.[0]?.message).toContain('f'.repeat(64));
});

test('a step without a recorded prompt has none', async () => {
  const builder = new EventBuilder('none');
  const { steps } = builder.walk(builder.tree(builder.run()), 0, 1, 1);
  await givenEvents(api.database.db, builder.events);
  expect((await api.ask(QUERY, { id: steps[0] })).data.step.prompt).toBeNull();
  const { steps: asked } = await given('some');
  const found = await api.ask(
    'query ($none: ID!, $some: ID!) { none: step(id: $none) { hasPrompt } some: step(id: $some) { hasPrompt } }',
    {
      none: steps[0],
      some: asked[0],
    },
  );
  expect(found.data).toEqual({ none: { hasPrompt: false }, some: { hasPrompt: true } });
});

test('a judgement shows what the model was asked with, also where it repeats the verdict of another', async () => {
  const builder = new EventBuilder('judged');
  const tree = builder.tree(builder.run());
  const { steps } = builder.walk(tree, 0, 1, 0);
  const [stepId = ''] = steps;
  const data = { treeId: tree.treeId, leafStepId: stepId, stepId, promptHash: 'a'.repeat(64) };
  const said = { ...data, index: 0, judge: { name: 'model:m', revision: '1' }, verdict: 'good', reply: 'Good.' } as const;
  builder.record('StepJudged', said, tree.runId);
  const judgementId = builder.events.at(-1)?.id ?? '';
  const call = { responseId: 'r1', model: 'm-0613', requestHash: 'b'.repeat(64), attempts: 1, latencyMs: 5, usage: null };
  const answer = { finishReason: 'stop', usage: { promptTokens: 7, completionTokens: 2 }, tokens: null };
  recordMessages(builder, tree, stepId, [text('user', 'Judge this.')], {
    judgementId,
    model: 'm',
    answer: { ...answer, call: { ...call, trimmed: null } },
  });
  builder.record('StepJudged', { ...said, index: 1 }, tree.runId);
  const repeated = builder.events.at(-1);
  const events = builder.events.map((event) => (event === repeated ? { ...event, causationId: judgementId } : event));
  await givenEvents(api.database.db, events);
  const query = `query ($id: ID!) { tree(id: $id) { judgements { reusedFrom prompt { model messages { role parts { text } }
    answer { finishReason usage { promptTokens completionTokens } call { model requestHash } } } } }
    step(id: "${stepId}") { prompt { sha256 } } }`;
  const { data: found, errors } = await api.ask(query, { id: tree.treeId });
  expect(errors).toBeUndefined();
  const prompt = {
    model: 'm',
    messages: [{ role: 'user', parts: [{ text: 'Judge this.' }] }],
    answer: { ...answer, tokens: undefined, call: { model: 'm-0613', requestHash: call.requestHash } },
  };
  expect(found.tree.judgements).toEqual([
    { reusedFrom: null, prompt },
    { reusedFrom: judgementId, prompt },
  ]);
  expect(found.step.prompt).toBeNull(); // the judgement's prompt is none of the step
});

test('the image of a prompt has the factor of its own step where two factors give equal pixels', async () => {
  const builder = new EventBuilder('twins');
  const { steps } = recordTwinImages(builder);
  await givenEvents(api.database.db, builder.events);
  for (const { stepId, factor } of steps) {
    const { data } = await api.ask(
      'query ($id: ID!) { step(id: $id) { prompt { messages { parts { image { factor step { id } } } } } } }',
      { id: stepId },
    );
    expect(data.step.prompt.messages[0].parts[0].image).toEqual({ factor, step: { id: stepId } });
  }
});

test('an image that a prompt still shows has the step and the factor of the step that was shown it', async () => {
  const builder = new EventBuilder('twin steps');
  const elsewhere = new EventBuilder('twins elsewhere'); // its images have the same pixels, and it was recorded first
  recordTwinImages(elsewhere);
  const { steps } = recordTwinSteps(builder);
  await givenEvents(api.database.db, [...elsewhere.events, ...builder.events]);
  const { data } = await api.ask(
    'query ($id: ID!) { step(id: $id) { prompt { messages { parts { image { factor step { id } } } } } } }',
    { id: steps[1]?.stepId },
  );
  const images = data.step.prompt.messages.map(({ parts }: { parts: { image: object | null }[] }) => parts[0]?.image);
  const [first, last] = steps.map(({ stepId, factor }) => ({ factor, step: { id: stepId } }));
  expect(images).toEqual([first, null, last]);
});
