import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { textReader } from '../../blobs/read-text.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { unpack } from '../../events/packed.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readEventsOfTypes } from '../../projections/journal/read-events-of-types.ts';
import { type PromptPayloads, readPrompts } from '../../projections/prompts/read-prompts.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { type OpenAiServer, startOpenAiServer, templatedIds } from '../../testing/openai-server.ts';
import { type Collection, collect } from './collect.ts';
import type { PromptPlan } from './prompting/prompt-plan.ts';

let platform: Platform;
let projector: Subscription;
const servers: OpenAiServer[] = [];
beforeAll(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
});
afterAll(async () => {
  for (const server of servers) await server.close();
  await projector.close();
  await platform.close();
});

const reply: Parameters<typeof startOpenAiServer>[0]['reply'] = ({ messages }) =>
  `Thought: turn ${messages.length}, é🌳\nAction: get ${messages.length} stick`;

async function serve(options: Partial<Parameters<typeof startOpenAiServer>[0]> = {}): Promise<OpenAiServer> {
  const server = await startOpenAiServer({ tokenIds: 'token_ids', reply, ...options });
  servers.push(server);
  return server;
}

async function collectFrom(server: OpenAiServer, plan: Partial<Collection['plan']> = {}): Promise<string> {
  const policy = JSON.stringify({
    kind: 'openai',
    baseUrl: server.url,
    model: 'stand-in',
    sampling: { topP: 0.9 },
    maxTokens: 99,
    stop: ['END'],
  });
  const runId = newId();
  await collect(platform, {
    runId,
    name: 'prompts',
    seed: 1,
    concurrency: 1,
    signal: new AbortController().signal,
    mode: 'new',
    plan: {
      environment: 'textcraft',
      tasks: [{ alias: '0', rollouts: 1, branching: 'root' as const }],
      taskSeed: 0,
      policy,
      temperature: 1,
      maxSteps: 4,
      search: null,
      ...plan,
    },
  });
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
  return runId;
}

async function shownIn(runId: string) {
  const { db } = platform.database;
  const steps = await db
    .selectFrom('steps')
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .select(['stepId', 'trees.treeId'])
    .where('trees.runId', '=', runId)
    .where('depth', '>', 0)
    .orderBy('depth')
    .execute();
  const text = textReader(platform.blobs);
  const payloads: PromptPayloads = { text: ({ blob }) => text(blob), bytes: ({ blob }) => platform.blobs.get(blob) };
  const prompts = await readPrompts(
    db,
    steps.map(({ treeId: of, stepId: id }) => ({ treeId: of, id })),
    payloads,
  );
  const [{ treeId } = { treeId: '' }] = steps;
  return { prompts: [...prompts.values()], events: await readEventsOfTypes(db, treeId, ['PromptShown']), treeId };
}

test('the prompt of every step is read back as it was sent, with its token ids and sampling parameters', async () => {
  const server = await serve();
  const { prompts } = await shownIn(await collectFrom(server));
  const sent = server.requests.map(({ text }) => JSON.parse(text));
  expect(prompts).toHaveLength(4);
  for (const [i, prompt] of prompts.entries()) {
    expect(prompt.messages.map(({ role, parts }) => ({ role, content: parts[0]?.kind === 'text' && parts[0].text }))).toEqual(
      sent[i].messages,
    );
    expect([...(prompt.tokenIds ?? [])]).toEqual(templatedIds(sent[i].messages));
    expect(prompt.sampling).toEqual({
      temperature: 1,
      topP: 0.9,
      topK: -1,
      minP: 0,
      repetitionPenalty: 1,
      maxTokens: 99,
      stop: ['END'],
      seed: sent[i].seed,
      others: [],
    });
    expect(prompt.server).toBe(`${server.url}/chat/completions`);
  }
});

test('a prompt that continues the one before stores no text and only the token ids of the observation', async () => {
  const { events, prompts } = await shownIn(await collectFrom(await serve()));
  for (const [i, { data }] of events.entries()) {
    expect(data.blocks).toEqual([]);
    if (i === 0) continue;
    expect(data.base?.messages).toBe(2 * i);
    expect(data.messages.map(({ role, parts }) => [role, parts[0]?.kind])).toEqual([
      ['assistant', 'step'],
      ['user', 'step'],
    ]);
    expect(data.tokens?.keep).toBe(data.tokens?.before);
    expect(prompts[i]?.continues).toEqual({ before: data.tokens?.before, kept: data.tokens?.keep });
  }
});

test('a server that tokenises a reply in another way leaves a counted drift, and the ids stay those it returned', async () => {
  const drifting = (messages: Parameters<typeof templatedIds>[0]) => {
    const ids = templatedIds(messages);
    return messages.length > 4 ? ids.map((id, i) => (i === 20 ? id + 1 : id)) : ids;
  };
  const server = await serve({ promptIds: drifting });
  const runId = await collectFrom(server);
  const { prompts, events } = await shownIn(runId);
  expect(events.map(({ data }) => data.tokens !== null && data.tokens.keep < data.tokens.before)).toEqual([
    false,
    false,
    true,
    false,
  ]);
  const sent = server.requests.map(({ text }) => JSON.parse(text).messages);
  expect(prompts.map(({ tokenIds }) => [...(tokenIds ?? [])])).toEqual(sent.map(drifting));
  expect(unpack(events[2]!.data.tokens!.ids).length).toBeGreaterThan(20);
});

test('a templated prompt stores each block of its text once on a path', async () => {
  const prompt: PromptPlan = {
    template: { name: 'textcraft', version: 1 },
    mode: 'text',
    historyLength: 50,
    image: null,
    compression: null,
    invalidPenalty: 0,
  };
  const server = await serve({ reply: ({ messages }) => `<think>t${messages.length}</think><action>inventory</action>` });
  const { prompts, events } = await shownIn(await collectFrom(server, { prompt }));
  const sent = server.requests.map(({ text }) => JSON.parse(text).messages[0].content);
  expect(prompts.map(({ messages }) => messages[0]?.parts[0])).toEqual(sent.map((text) => ({ kind: 'text', text })));
  expect(prompts[0]?.template).toEqual({ name: 'textcraft', version: 1 });
  const stored = events.flatMap(({ data }) => data.blocks);
  expect(new Set(stored).size).toBe(stored.length);
});
