import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openEnvironment } from '../../environments/open-environment.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { type RevisionRecord, readRevisions } from '../../projections/revisions/read-revisions.ts';
import { readSearchedTree, readTreeIds } from '../../projections/revisions/read-searched-trees.ts';
import { revisionTurns } from '../../projections/revisions/revision-turns.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { collect } from '../collect/collect.ts';
import type { CollectPlan } from '../collect/plan.ts';
import { verifyRecord } from '../verify/verify-record.ts';
import { revise } from './revise.ts';
import { openChecks, type ReadReply } from './revise-check.ts';
import { Slots } from './shared-episodes.ts';

const ENVIRONMENT =
  'tool-env:profile=v0.1;tools=./examples/count-letters.ts;reward=./examples/count-letters.ts#honest;tasks=./examples/letters.jsonl;max-turns=4';
const count = (letter: string) =>
  `<think>I count.</think>\n<tool_call>{"name": "count_letter", "arguments": {"word": "strawberry", "letter": "${letter}"}}</tool_call>`;
const answer = (text: string) => `<think>It is so.</think>\n<answer>${text}</answer>`;
const SIGNAL = new AbortController().signal;

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let server: OpenAiServer;
beforeAll(async () => {
  // A player that counts the right letter or a wrong one, and a judge that finds fault with the first step of whatever it is
  // shown.
  server = await startOpenAiServer({
    reply: ({ messages }, choice) => {
      if (messages.length === 1) return 'Judgement: <Bad>';
      const calls = messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
      if (calls.length === 0) return count(choice === 0 ? 'r' : 's');
      return answer(calls[0]?.includes('"letter": "r"') ? '3' : '0');
    },
  });
});
afterAll(async () => {
  await server.close();
});

const settled = async () => waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });

/** Searches a task that is done with tools, and mines it. */
async function mined(signal: 'thought' | 'turn') {
  const runId = newId();
  const policy = JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'stand-in' });
  const plan: CollectPlan = {
    environment: ENVIRONMENT,
    taskSeed: 0,
    policy,
    temperature: 1,
    maxSteps: 8,
    tasks: [{ alias: '1', rollouts: 1, branching: 'root' }],
    search: { iterations: 2, candidates: 2, maxDepth: 4, exploration: 0.25 },
  };
  await collect(platform, { runId, name: 'r', seed: 1, plan, concurrency: 1, signal: SIGNAL, mode: 'new' });
  const counts = await revise(platform, {
    runId,
    judge: `openai:judge@${server.url}`,
    environment: null,
    checking: 'execute',
    concurrency: 1,
    signal: SIGNAL,
    plan: { alpha: 0.5, beta: 0.2, seed: 1, signal, beforeBranch: 'clamp', unparsed: 'continue' },
  });
  await settled();
  const { db } = platform.database;
  const treeIds = await readTreeIds(db, runId);
  const tree = await readSearchedTree(db, treeIds[0] ?? '', async () => '');
  if (!tree) throw new Error('the run has a tree');
  return { counts, tree, revisions: await readRevisions(db, treeIds) };
}

/** Records a revision as if it had been mined so. */
async function record({ id: revisionId, ...revision }: RevisionRecord): Promise<void> {
  const { treeId, goodLeafStepId, badLeafStepId, branchStepId, transitionStepId, judged, reflection } = revision;
  const { signal, alpha, beta, contentHash, cause: transitionCause } = revision;
  const appender = appenderAs('past', platform);
  const about = { revisionId, treeId, goodLeafStepId, badLeafStepId, branchStepId, transitionStepId, transitionCause };
  const judge = { name: 'j', revision: '1' };
  const data = { ...about, judged, reflection, signal, alpha, beta, judge, contentHash };
  await appender.append([{ type: 'RevisionComposed', id: newId(), correlationId: revision.runId, data }]);
  await settled();
}

test('the reflection is placed in the thought of the reply, and the reply is verified with it', async () => {
  const { counts, tree, revisions } = await mined('thought');
  expect(counts).toMatchObject({ pairs: 1, revisions: 1, verified: 1 });
  const [revision] = revisions;
  if (!revision) throw new Error('there is one');
  expect(revision).toMatchObject({ state: 'verified', signal: 'in-form', reached: 1 });
  const turns = revisionTurns(tree.tree, revision);
  expect(turns.map(({ part, response }) => [part, response])).toEqual([
    ['bad', count('s')],
    ['signal', count('r').replace('<think>', `<think>${revision.reflection} `)],
    ['good', answer('3')],
  ]);

  const kind = await openEnvironment(ENVIRONMENT);
  try {
    const check = (checked: typeof turns, read: ReadReply | null = null) =>
      openChecks({ kind, read, slots: new Slots(1), signal: SIGNAL }, tree, [checked]).check(checked, { alpha: 0.5, beta: 0.2 });
    expect(await check(turns)).toEqual({ kind: 'verified', reached: 1 });
    // As revisions of such replies were recorded before.
    const labelled = revisionTurns(tree.tree, { ...revision, signal: 'thought' });
    expect(labelled[1]?.response).toMatch(/^Thought: .*\n<think>I count/);
    expect(await check(labelled)).toMatchObject({ kind: 'rejected', reason: 'malformed', stepId: turns[1]?.stepId });
    // What the reply says is executed, not what was recorded for it.
    const another = turns.map((turn) => (turn.part === 'signal' ? { ...turn, response: count('t') } : turn));
    expect(await check(another)).toMatchObject({ kind: 'rejected', reason: 'impossible', stepId: turns[1]?.stepId });
    // A run with prompts of its own reads replies by their rules.
    const read = (response: string) => ({
      thought: '',
      wellFormatted: true,
      action: response.includes(revision.reflection) ? answer('3') : response,
    });
    expect(await check(turns, read)).toMatchObject({ kind: 'rejected', reason: 'impossible', stepId: turns[1]?.stepId });
  } finally {
    await kind.close();
  }
});

test('verify names a revision recorded with a label in a reply without labels, and does not report damage', async () => {
  const { tree, revisions } = await mined('thought');
  const [revision] = revisions;
  if (!revision) throw new Error('there is one');
  const revisionId = newId();
  await record({ ...revision, id: revisionId, signal: 'thought' });
  const { faulty, doubtfulRevisions } = await verifyRecord(platform, { files: [], signal: SIGNAL });
  const { treeId } = tree;
  expect([faulty, doubtfulRevisions]).toEqual([0, [{ revisionId, treeId, state: 'composed', why: 'malformed' }]]);
});

test('verify names a revision whose tree does not give the turns that it was composed of', async () => {
  const { tree, revisions } = await mined('thought');
  const [revision] = revisions;
  if (!revision) throw new Error('there is one');
  const revisionId = newId();
  await record({ ...revision, id: revisionId, contentHash: 'f'.repeat(64) });
  const { doubtfulRevisions } = await verifyRecord(platform, { files: [], signal: SIGNAL });
  expect(doubtfulRevisions).toContainEqual({ revisionId, treeId: tree.treeId, state: 'composed', why: 'altered' });
  expect(doubtfulRevisions).not.toContainEqual(expect.objectContaining({ revisionId: revision.id }));
});

test('a signal as a turn of its own is dropped where replies have no action to wait with', async () => {
  const { counts } = await mined('turn');
  expect(counts).toMatchObject({ pairs: 1, revisions: 0, dropped: { 'no-turn': 1 } });
});
