import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { judgePrompt, judgeSlots } from '../../domain/revision/judge-prompt.ts';
import type { SearchedStep } from '../../domain/search/search-tree.ts';
import type { Envelope } from '../../events/envelope.ts';
import { unpack } from '../../events/packed.ts';
import { createJudge, parseJudgeText } from '../../policies/judge.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import { readPrompts } from '../../projections/prompts/read-prompts.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { MemoryBlobs } from '../../testing/memory-blobs.ts';
import { type OpenAiServer, startOpenAiServer, templatedIds } from '../../testing/openai-server.ts';
import { projectingAppender } from '../../testing/projecting-log.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { openVerdicts } from './revise-verdicts.ts';

const database = useTestDatabase({ emptied: 'before-each' });
let server: OpenAiServer;
beforeAll(async () => {
  server = await startOpenAiServer({ tokenIds: 'token_ids', reply: () => 'It helps.\nJudgement: <Good>' });
});
afterAll(() => server.close());

const LENGTH = 4;
const blobs = new MemoryBlobs();
const payloads = {
  text: async ({ blob }: { blob: string }) => Buffer.from(await blobs.get(blob)).toString('utf8'),
  bytes: ({ blob }: { blob: string }) => blobs.get(blob),
};

/** A walk whose steps are all judged by the stand-in model, and a second one of equal texts. */
async function judged() {
  const builder = new EventBuilder('judged');
  const tree = builder.tree(builder.run());
  const walks = [0, 1].map((ordinal) => builder.walk(tree, ordinal, LENGTH, 0).steps);
  await givenEvents(database.db, builder.events);
  const policy = JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'judge-7b', maxTokens: 50, tokenIds: 'ask' });
  const judge = await createJudge(parseJudgeText(policy, null), 'world');
  if (!judge) throw new Error('a model judges');
  const appender = projectingAppender(database.db, blobs);
  const verdicts = openVerdicts(judge, database.db, appender);
  for (const ids of walks) {
    const steps = ids.map((stepId, i) => searched(stepId, i));
    for (const [index] of steps.entries()) {
      const request = { steps, index, slots: judgeSlots('Craft.', steps, index), planAround: async () => null };
      const at = { treeId: tree.treeId, runId: tree.runId, leafStepId: ids.at(-1) ?? '', request };
      await verdicts.of(at, new Map(), new AbortController().signal);
    }
  }
  const of = <Type extends Envelope['type']>(type: Type) =>
    appender.appended.filter((event): event is Envelope<Type> => event.type === type);
  return { judgements: of('StepJudged'), prompts: of('PromptShown'), walks };
}

function searched(stepId: string, i: number): SearchedStep {
  const seen = `You see shelf ${i}.\n`.repeat(40);
  const rest = { parentStepId: null, score: 0, disaster: false, terminal: false, visits: 1, valueSum: 0 };
  return { ...rest, stepId, response: `r${i}`, action: `open ${i}`, observation: seen };
}

test('what a model was asked with as judge is read back as it was sent, with its answer, by the id of the judgement', async () => {
  const before = server.requests.length;
  const { judgements, walks } = await judged();
  const sent = server.requests.slice(before).map(({ text }) => JSON.parse(text));
  expect(sent).toHaveLength(LENGTH); // the second walk asks the same
  const own = judgements.slice(0, LENGTH);
  const prompts = await readPrompts(
    database.db,
    own.map(({ id, data: { treeId } }) => ({ treeId, id })),
    payloads,
  );
  const steps = (walks[0] ?? []).map((stepId, i) => searched(stepId, i));
  for (const [i, { id, data }] of own.entries()) {
    const prompt = prompts.get(keyInTree(data.treeId, id))!;
    expect(prompt.messages.map(({ role, parts }) => ({ role, content: parts[0]?.kind === 'text' && parts[0].text }))).toEqual(
      sent[i].messages,
    );
    expect(sent[i].messages).toEqual(judgePrompt(judgeSlots('Craft.', steps, i)));
    expect(prompt).toMatchObject({
      template: { name: 'agent-r-judge', version: 1 },
      model: 'judge-7b',
      continues: null,
      sampling: { temperature: 0, maxTokens: 50 },
      server: `${server.url}/chat/completions`,
      answer: { finishReason: 'stop', call: { attempts: 1, requestHash: expect.stringMatching(/^[0-9a-f]{64}$/) } },
    });
    expect([...(prompt.tokenIds ?? [])]).toEqual(templatedIds(sent[i].messages));
    const { tokens, usage } = prompt.answer!;
    expect(unpack(tokens!.ids)).toHaveLength(usage!.completionTokens);
    expect(unpack(tokens!.logProbs!)).toHaveLength(usage!.completionTokens);
    expect(data.reply).toBe('It helps.\nJudgement: <Good>');
  }
});

test('the log of a judged trajectory is stored once, and a verdict that is repeated has no prompt of its own', async () => {
  const { judgements, prompts } = await judged();
  expect(judgements).toHaveLength(2 * LENGTH);
  expect(prompts.map(({ data }) => data.judgementId)).toEqual(judgements.slice(0, LENGTH).map(({ id }) => id));
  expect(prompts.map(({ data }) => data.base?.stepId ?? null)).toEqual([
    null,
    ...judgements.slice(0, LENGTH - 1).map(({ id }) => id),
  ]);
  const stored = prompts.flatMap(({ data }) => data.blocks);
  expect(new Set(stored).size).toBe(stored.length);
  const last = prompts.at(-1)!.data;
  const whole = last.messages[0]?.parts[0];
  expect(last.blocks.length).toBeLessThan(whole?.kind === 'text' ? whole.blocks.length / 2 : 0);
});

test('a judge that reads no prompt records none', async () => {
  const builder = new EventBuilder('planned');
  const tree = builder.tree(builder.run());
  const [stepId = ''] = builder.walk(tree, 0, 1, 0).steps;
  await givenEvents(database.db, builder.events);
  const judge = await createJudge(parseJudgeText('planner', null), 'world');
  const appender = projectingAppender(database.db, blobs);
  const steps = [searched(stepId, 0)];
  const planAround = async () => ({ before: 2, after: 1, executable: true });
  const request = { steps, index: 0, slots: judgeSlots('Craft.', steps, 0), planAround };
  const at = { treeId: tree.treeId, runId: tree.runId, leafStepId: stepId, request };
  await openVerdicts(judge!, database.db, appender).of(at, new Map(), new AbortController().signal);
  expect(appender.appended.map(({ type }) => type)).toEqual(['StepJudged']);
});
