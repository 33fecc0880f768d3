import { expect, test } from '@jest/globals';
import type { PolicyMessage } from '../../domain/prompts/policy-prompt.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import type { StoredPrompt } from '../../projections/prompts/read-prompts.ts';
import type { BatchReward, BatchRows, BatchStep, BatchTrajectory } from '../rows/batch-rows.ts';
import { textsOf } from '../rows/step-layout.ts';
import { type PictureOf, stepRowsOf } from './step-row.ts';

const reward = (value: number): BatchReward => ({ component: 'c', value, weight: 1, scorer: { name: 's', revision: '1' } });

function aStep(place: number, part: Partial<BatchStep> = {}): BatchStep {
  return {
    stepId: `step-${place}`,
    response: `answer ${place}`,
    message: null,
    action: `act ${place}`,
    observation: `seen ${place}`,
    candidates: ['a', 'b'],
    wellFormatted: true,
    executable: true,
    trimmed: false,
    temperature: null,
    termination: 'none',
    anchor: `${place}`,
    tokens: {
      ids: Int32Array.of(10 + place, 99, 20 + place),
      mask: Uint8Array.of(1, 0, 1),
      logProbs: Float32Array.of(-0.5, 0, -0.25),
    },
    spans: [
      { from: 0, to: 1, policyId: 'p', version: 4 },
      { from: 1, to: 3, policyId: 'p', version: 3 },
    ],
    rewards: [reward(0.1), reward(0.2)],
    ...part,
  };
}

function rowsOf(
  part: Partial<BatchTrajectory> = {},
  prompts: ReadonlyMap<string, StoredPrompt> = new Map(),
  pictureOf: PictureOf | null = null,
) {
  const batch = {} as BatchRows['batch']; // rows are laid out from the trajectories alone
  return stepRowsOf({ batch, trajectories: [trajectoryOf(part)] }, prompts, pictureOf);
}

function trajectoryOf(part: Partial<BatchTrajectory>): BatchTrajectory {
  return {
    rolloutId: 'r',
    treeId: 't',
    group: 0,
    runId: 'run',
    taskId: 'task',
    environment: 'e',
    goal: 'g',
    instruction: 'Do.',
    firstObservation: 'start',
    outcome: 'truncated',
    success: null,
    temperature: 0.5,
    prompting: 'plain-chat',
    from: 1,
    after: ['c'],
    steps: [aStep(0), aStep(1), aStep(2)],
    rewards: [reward(0.7)],
    ...part,
  };
}

test('the rows of a rollout are its own steps, with the steps of its earlier rollout as history', () => {
  const [first, second, ...more] = rowsOf();
  expect(more).toEqual([]);
  expect(first).toMatchObject({ groupId: 't', rolloutId: 'r', step: 0, action: 'act 1', observation: 'seen 1', stateHash: '1' });
  expect(first?.situation).toEqual({
    goal: 'g',
    firstObservation: 'start',
    history: [{ action: 'act 0', observation: 'seen 0' }],
  });
  expect(second?.situation.history.map(({ action }) => action)).toEqual(['act 0', 'act 1']);
});

test('only sampled tokens form rows, the oldest span is the version, and a temperature missing from the plan is 1', () => {
  const [first] = rowsOf({ temperature: null });
  expect(first?.tokens).toEqual({ ids: [11, 21], logProbs: [-0.5, -0.25] });
  expect([first?.version, first?.temperature]).toEqual([3, 1]);
  expect(rowsOf({ steps: [aStep(0, { tokens: null })], from: 0 })[0]?.tokens).toBeNull();
});

test('the rewards of a whole rollout are assigned to its last step, summed after the rewards of that step in recorded order', () => {
  expect(rowsOf().map(({ reward }) => reward)).toEqual([0.1 + 0.2, 0.1 + 0.2 + 0.7]);
});

test('a rollout ends as terminated if the environment ended it, and as truncated otherwise', () => {
  expect(rowsOf({ outcome: 'terminated' }).map(({ end }) => end)).toEqual(['none', 'terminated']);
  expect(rowsOf().map(({ after }) => after)).toEqual([undefined, ['c']]);
  expect(rowsOf({ outcome: 'failed' }).map(({ end }) => end)).toEqual(['none', 'truncated']);
});

test('the chat is rebuilt where the run uses the plain chat, and omitted where prompts are worded differently or turns were dropped', () => {
  const [first] = rowsOf();
  expect(first?.chat).toEqual({
    messages: [
      { role: 'system', content: 'Do.' },
      { role: 'user', content: 'start' },
      { role: 'assistant', content: 'answer 0' },
      { role: 'user', content: 'seen 0' },
    ],
    reply: { role: 'assistant', content: 'answer 1' },
  });
  expect(rowsOf({ prompting: 'otherwise' })[0]?.chat).toBeUndefined();
  expect(rowsOf({ steps: [aStep(0, { trimmed: true })], from: 0 })[0]?.chat).toBeUndefined();
});

test('a recorded prompt is the chat of its step as it was sent, with the token ids that its server returned', () => {
  const asked = {
    role: 'user' as const,
    parts: [
      { kind: 'text' as const, text: 'Templated ' },
      { kind: 'text' as const, text: 'é🌳' },
    ],
  };
  const prompt = { stepId: 'step-1', messages: [asked], tokenIds: Int32Array.from([5, 6]) } as unknown as StoredPrompt; // what is read
  const trimmed = [aStep(0), { ...aStep(1), trimmed: true }, aStep(2)];
  const [first, second] = rowsOf({ prompting: 'otherwise', steps: trimmed }, new Map([[keyInTree('t', 'step-1'), prompt]]));
  expect(first?.chat).toEqual({
    messages: [{ role: 'user', content: 'Templated é🌳' }],
    reply: { role: 'assistant', content: 'answer 1' },
    promptIds: [5, 6],
  });
  expect(second?.chat).toBeUndefined();
});

test('a chat has the calls of tools, their results, the reasoning and the tools that were offered as chat servers take them', () => {
  const call = { kind: 'tool-call' as const, id: 'c1', name: 'look', arguments: '{"at": 12345678901234567890}' };
  const asked: readonly PolicyMessage[] = [
    { role: 'user', parts: [{ kind: 'text', text: 'Look.' }] },
    { role: 'assistant', parts: [{ kind: 'reasoning', text: 'Hm.' }, call] },
    { role: 'tool', parts: [{ kind: 'text', text: 'seen' }], toolCallId: 'c1', name: 'look' },
  ];
  const tools = '[{"type":"function","name":"look"}]';
  const prompt = { stepId: 'step-1', messages: asked, tools, tokenIds: null } as unknown as StoredPrompt; // what is read
  const message: PolicyMessage = { role: 'assistant', parts: [{ ...call, id: null }] };
  const steps = [aStep(0), aStep(1, { response: '', message }), aStep(2)];
  const [first, second] = rowsOf({ steps }, new Map([[keyInTree('t', 'step-1'), prompt]]));
  const written = { type: 'function', function: { name: 'look', arguments: '{"at": 12345678901234567890}' } };
  expect(first?.chat).toEqual({
    messages: [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: '', reasoning_content: 'Hm.', tool_calls: [{ id: 'c1', ...written }] },
      { role: 'tool', content: 'seen', tool_call_id: 'c1', name: 'look' },
    ],
    reply: { role: 'assistant', content: '', tool_calls: [written] },
    tools: '[{"type":"function","function":{"name":"look"}}]',
  });
  expect(second?.chat).toBeUndefined(); // composed of texts it would leave out the call before
});

test('the texts of a leased row have the message of a reply that calls tools, and none of a reply that is its text', () => {
  const message: PolicyMessage = { role: 'assistant', parts: [{ kind: 'reasoning', text: 'Hm.' }] };
  const [plain, structured] = textsOf(trajectoryOf({ steps: [aStep(0), aStep(1, { message })] })).steps;
  expect(plain).not.toHaveProperty('message');
  expect(structured).toMatchObject({ message: { role: 'assistant', content: '', reasoning_content: 'Hm.' } });
});

test('a recorded prompt with an image is a chat for models that read pictures, where its token ids are on record', async () => {
  const imageId = 'f'.repeat(64);
  const parts = [
    { kind: 'image' as const, imageId },
    { kind: 'text' as const, text: 'What now?' },
  ];
  const shown = { stepId: 'step-1', messages: [{ role: 'user' as const, parts }] };
  const chatOf = (tokenIds: Int32Array | null, pictureOf: PictureOf | null) => {
    const prompt = { ...shown, tokenIds } as unknown as StoredPrompt; // what is read
    return rowsOf({ steps: [aStep(0), aStep(1), aStep(2)] }, new Map([[keyInTree('t', 'step-1'), prompt]]), pictureOf)[0]?.chat;
  };
  const drawn: PictureOf = ({ stepId, imageId: id }) => ({ imageId: id, png: async () => Buffer.from(stepId) });
  const chat = chatOf(Int32Array.of(7, 8), drawn);
  expect(chat).toMatchObject({ messages: [{ role: 'user', content: 'What now?' }], promptIds: [7, 8], pictures: [{ imageId }] });
  expect(Buffer.from((await chat?.pictures?.[0]?.png()) ?? '').toString()).toBe('step-1');
  expect(chatOf(Int32Array.of(7, 8), null)).toBeUndefined();
  expect(chatOf(null, drawn)).toBeUndefined();
});
