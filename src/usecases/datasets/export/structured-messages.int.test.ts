import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import type { PolicyMessage } from '../../../domain/prompts/policy-prompt.ts';
import { textMessage } from '../../../domain/prompts/same-message.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { recordMessages } from '../../../testing/record-messages.ts';
import type { ExportFormat } from './formats.ts';

const shop = datasetWorkshop();

const TOOLS = [{ type: 'function', function: { name: 'delete', parameters: { type: 'object' } } }];
const GIVEN = '{"id": 1234567890123456789}'; // no double holds it
const CALL = { id: 'c1', name: 'delete', arguments: GIVEN };

/** Records a rollout that thinks, calls a tool and says what came of it; its program wrote the arguments again. */
async function givenToolRollout(): Promise<void> {
  const builder = new EventBuilder('structured');
  const runId = builder.run('structured');
  const tree = builder.tree(runId, 'task');
  const rollout = builder.rollout(tree, 0);
  const reply = { reasoning: true, toolCalls: [CALL] };
  const first = builder.step(tree, rollout, tree.rootStepId, 1, {
    response: '',
    thought: 'Gone.',
    reply,
    observation: 'deleted',
  });
  const last = builder.step(tree, rollout, first, 2, { response: 'It is gone.', observation: '', termination: 'terminated' });
  const opening = [textMessage('user', 'Delete it.')];
  const sentBack: PolicyMessage = {
    role: 'assistant',
    parts: [
      { kind: 'reasoning', text: 'Gone.' },
      { kind: 'tool-call', ...CALL, arguments: '{"id":1234567890123456789}' },
    ],
  };
  const result: PolicyMessage = { ...textMessage('tool', 'deleted'), toolCallId: 'c1' };
  const tools = JSON.stringify(TOOLS);
  recordMessages(builder, tree, first, opening, { tools });
  recordMessages(builder, tree, last, [...opening, sentBack, result], { tools });
  builder.reward(tree, last, 1, { rolloutId: rollout, component: 'environment' });
  builder.finishRollout(tree, rollout, last, { success: true, steps: 2 });
  await givenEvents(shop.db, builder.events);
}

async function lines(format: ExportFormat): Promise<readonly string[]> {
  const text = await readFile(await shop.exportTo(`${format.kind}.jsonl`, format), 'utf8');
  return text.trimEnd().split('\n');
}

const PLAIN = { weights: 'own', metadata: 'omit' } as const;

test('openai has calls of tools with arguments as a text, their results by id, reasoning and the tools of a row', async () => {
  await givenToolRollout();
  const [line = '', ...others] = await lines({ kind: 'openai', ...PLAIN, context: 'refuse' });
  expect(others).toEqual([]);
  expect(JSON.parse(line)).toEqual({
    messages: [
      { role: 'user', content: 'Delete it.' },
      {
        role: 'assistant',
        content: '',
        reasoning_content: 'Gone.',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'delete', arguments: GIVEN } }],
      },
      { role: 'tool', content: 'deleted', tool_call_id: 'c1' },
      { role: 'assistant', content: 'It is gone.' },
    ],
    tools: TOOLS,
  });
});

test('trl has the arguments as the object that the model wrote, digit by digit, and the tools as one text', async () => {
  await givenToolRollout();
  const [called = '', said = ''] = await lines({ kind: 'trl', ...PLAIN });
  expect(called).toContain(`"arguments":${GIVEN}`);
  expect(JSON.parse(said)).toMatchObject({
    prompt: [{ role: 'user' }, { role: 'assistant' }, { role: 'tool', tool_call_id: 'c1', content: 'deleted' }],
    completion: [{ role: 'assistant', content: 'It is gone.' }],
    tools: JSON.stringify(TOOLS),
  });
});

test('sharegpt has function calls and observations as LLaMA-Factory reads them', async () => {
  await givenToolRollout();
  const [line = ''] = await lines({ kind: 'sharegpt', weights: 'own', context: 'refuse' });
  expect(JSON.parse(line)).toMatchObject({
    conversations: [
      { from: 'human', value: 'Delete it.' },
      { from: 'function_call', value: `<think>\nGone.\n</think>\n\n{"name":"delete","arguments":${GIVEN}}` },
      { from: 'observation', value: 'deleted' },
      { from: 'gpt', value: 'It is gone.' },
    ],
    tools: JSON.stringify(TOOLS),
  });
});

test('atif has calls of tools, their results by id, reasoning and the definitions of the tools', async () => {
  await givenToolRollout();
  const [line = ''] = await lines({ kind: 'atif', weights: 'own' });
  expect(line).toContain(`"arguments":${GIVEN}`);
  expect(JSON.parse(line)).toMatchObject({
    agent: { tool_definitions: TOOLS },
    steps: expect.arrayContaining([
      expect.objectContaining({
        source: 'agent',
        reasoning_content: 'Gone.',
        tool_calls: [expect.objectContaining({ tool_call_id: 'c1', function_name: 'delete' })],
        observation: { results: [{ source_call_id: 'c1', content: 'deleted' }] },
      }),
    ]),
  });
});

test('a format without a place for calls of tools refuses them', async () => {
  await givenToolRollout();
  await expect(lines({ kind: 'xtuner', ...PLAIN })).rejects.toMatchObject({ code: 'structure' });
});
