import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Appender } from '../../append/appender.ts';
import { textsByEnds } from '../../domain/text/texts-by-ends.ts';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { newId } from '../../events/new-id.ts';
import { unpack } from '../../events/packed.ts';
import type { Packed } from '../../events/schemas/values.ts';
import type { Subscription } from '../../log/event-log.ts';
import { nextSequence } from '../../platform/next-sequence.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { createPolicy, parsePolicyText } from '../../policies/policy-spec.ts';
import { runProjections } from '../../projections/runner.ts';
import { readSearchFacts } from '../../projections/search-statistics/read-statistics.ts';
import { tokensAsJson } from '../../projections/step-tree/token-bytes.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { settle } from '../../testing/crashing-run.ts';
import { type OpenAiServer, startOpenAiServer, tokenEntropy, tokensOf } from '../../testing/openai-server.ts';
import { runDigest } from '../datasets/digest-trees.ts';
import { collectRun } from './collect-run.ts';
import { treeIdOf } from './collect-tree.ts';
import type { CollectPlan } from './plan.ts';
import { readRecordedRun } from './recorded-run.ts';

/** `restrictToProjection`: after the first child of an expansion, where a log takes only the beginning of an append. */
type Kill = { readonly at: number; readonly when: 'before' | 'within' | 'after' };

/**
 * What the model says, call by call of one prompt: one action in two wordings, one reply twice, and never the same list again.
 */
const REPLIES = [
  'Thought: I look.\nAction: inventory',
  'Thought: I check.\nAction: inventory',
  'Thought: I look.\nAction: inventory',
  'Thought: I try.\nAction: get 1 nothing',
  'Thought: I ask.\nAction: dance',
];

type Tokens = Readonly<Partial<Record<'ends' | 'entropies', Packed>>>;

/**
 * Describes what a search that is killed anywhere promises of a model that does not repeat itself, over one event log. Each log's
 * test file calls it once, inside its own description. Every fourth of the points at which a process can die is tried.
 */
export function describeSearchReplies(open: () => Promise<Platform>): void {
  let platform: Platform;
  let projector: Subscription;
  let model: OpenAiServer;
  let calls = new Map<string, number>();
  beforeAll(async () => {
    platform = await open();
    projector = await runProjections({ log: platform.log, database: platform.database });
    model = await startOpenAiServer({
      tokenIds: 'token_ids',
      entropies: 'stated',
      reply: ({ messages }, choice) => {
        const prompt = JSON.stringify(messages);
        if (choice === 0) calls.set(prompt, (calls.get(prompt) ?? 0) + 1);
        return REPLIES[(choice + (calls.get(prompt) ?? 1) - 1) % REPLIES.length] ?? '';
      },
    });
  });
  afterAll(async () => {
    await model.close();
    await projector.close();
    await platform.close();
  });

  /** Searches, or goes on with a search, until an append at which the process dies: before the log has it, or after. */
  async function search(
    runId: string,
    kill: Kill | null,
    records: 'replies' | 'none' = 'replies',
  ): Promise<{ readonly appends: number; readonly died: string | null }> {
    await settle(platform as Parameters<typeof settle>[0]);
    const { log, blobs, database } = platform;
    const plan: CollectPlan = {
      environment: 'textcraft',
      tasks: [{ alias: '1', rollouts: 2, branching: 'root' }],
      taskSeed: 0,
      temperature: 1,
      policy: `openai:fickle@${model.url}`,
      maxSteps: 30,
      search: { iterations: 2, candidates: 3, maxDepth: 1, exploration: 0.25 },
    };
    const recorded = await readRecordedRun(
      database.db,
      runId,
      (i) => treeIdOf(runId, plan.tasks[i] ?? { alias: '', rollouts: 1, branching: 'root' }, i),
      async (sha256) => Buffer.from(await blobs.get(sha256)).toString('utf8'),
      (sha256) => blobs.get(sha256),
    );
    const sequenceOf = (stream: string, topic: string) => nextSequence(database.db, 'collector', stream, topic);
    const inner = appenderAs('collector', { log, blobs }, { sequenceOf });
    let appends = 0;
    let died: string | null = null;
    const appender: Appender = {
      append: async (drafts) => {
        const isLast = ++appends === kill?.at;
        if (isLast) died = drafts.map(({ type }) => type).join(' ');
        if (isLast && kill?.when === 'before') throw new Error('killed');
        const done = await inner.append(isLast && kill?.when === 'within' ? withFirstChild(drafts) : drafts);
        if (isLast) throw new Error('killed');
        return done;
      },
    };
    const kind = await openTextCraft();
    const asked = await createPolicy(parsePolicyText(plan.policy));
    const policy = records === 'none' ? { ...asked, repeats: true as const } : asked;
    try {
      await collectRun({
        runId,
        name: 'fickle',
        seed: 3,
        plan,
        codeVersion: 'test',
        kind,
        policy,
        recorded,
        appender,
        concurrency: 1,
        clock: Date.now,
        signal: new AbortController().signal,
      });
    } catch (error) {
      if ((error as Error).message !== 'killed') throw error;
    } finally {
      await policy.close();
      await kind.close();
    }
    await settle(platform as Parameters<typeof settle>[0]);
    return { appends, died };
  }

  /** The children of every expanded node, in the order of their replies. */
  async function familiesOf(runId: string) {
    const { db } = platform.database;
    const steps = await db
      .selectFrom('steps as s')
      .innerJoin('trees as t', 't.treeId', 's.treeId')
      .select(['s.treeId', 's.stepId', 's.action', 's.response'])
      .select(tokensAsJson('s').as('tokens'))
      .where('t.runId', '=', runId)
      .execute();
    const facts = await readSearchFacts(db, steps[0]?.treeId ?? '');
    const rows = facts.flatMap((fact) => {
      const step = fact.kind === 'child-added' ? steps.find(({ stepId }) => stepId === fact.stepId) : undefined;
      return fact.kind === 'child-added' && step
        ? [{ ...fact, action: step.action, response: step.response, tokens: step.tokens as Tokens }]
        : [];
    });
    rows.sort((x, y) => x.ordinal - y.ordinal);
    const families = new Map<string, typeof rows>();
    for (const row of rows) families.set(row.parentStepId, [...(families.get(row.parentStepId) ?? []), row]);
    return [...families.values()];
  }

  /** No child repeats an earlier one, and each names the first that does the same. */
  async function expectFamiliesByTheRules(runId: string): Promise<void> {
    for (const family of await familiesOf(runId)) {
      expect(new Set(family.map(({ response }) => response)).size).toBe(family.length);
      for (const child of family) {
        const first = family.find(({ action }) => action === child.action);
        expect(child.equivalentTo).toBe(first === child ? null : first?.stepId);
        if (child.tokens.ends) expect(textsByEnds(child.response, unpack(child.tokens.ends)).join('')).toBe(child.response);
      }
    }
  }

  test('a search killed at any point resumes with the recorded replies and reaches the same tree', async () => {
    const whole = newId();
    const { appends } = await search(whole, null);
    expect(appends).toBeGreaterThan(8);
    const expected = await runDigest(platform, whole);
    const children = (await familiesOf(whole)).flat();
    for (const { response, tokens } of children) {
      expect(textsByEnds(response, unpack(tokens.ends as Packed))).toEqual(tokensOf(response));
      expect(unpack(tokens.entropies as Packed)).toEqual(tokensOf(response).map((_, i) => tokenEntropy(i)));
    }
    const kills = Array.from({ length: appends }, (_, i): Kill[] => [
      { at: i + 1, when: 'before' },
      { at: i + 1, when: 'within' },
      { at: i + 1, when: 'after' },
    ]).flat();
    let lostReplies = 0;
    for (const kill of kills.filter((_, i) => i % 4 === 0)) {
      calls = new Map();
      const runId = newId();
      const { died } = await search(runId, kill);
      expect((await search(runId, null)).died).toBeNull();
      const most = Math.max(...calls.values());
      if (kill.when === 'before' && died === 'RepliesSampled') {
        lostReplies++;
        expect(most).toBe(2); // nothing of them was executed: asked again, the model may say something else
      } else {
        expect({ kill, digest: await runDigest(platform, runId), most }).toEqual({ kill, digest: expected, most: 1 });
      }
      await expectFamiliesByTheRules(runId);
    }
    expect(lostReplies).toBeGreaterThan(0);
  });

  test('a search continues a record without stored replies, and adds no child that repeats an existing one', async () => {
    const kills = [3, 4, 5, 6].map((at): Kill => ({ at, when: 'within' }));
    let inside = 0;
    for (const kill of kills) {
      calls = new Map();
      const runId = newId();
      const { died } = await search(runId, kill, 'none');
      if (died?.includes('StepTaken')) inside++;
      await search(runId, null);
      const run = await platform.database.db.selectFrom('runs').select('outcome').where('runId', '=', runId).executeTakeFirst();
      expect(run).toEqual({ outcome: 'completed' });
      await expectFamiliesByTheRules(runId);
    }
    expect(inside).toBeGreaterThan(1);
  });
}

/** Returns what precedes the second child of an expansion; all drafts where there is none. */
function withFirstChild(drafts: Parameters<Appender['append']>[0]): Parameters<Appender['append']>[0] {
  const first = drafts.findIndex(({ type }) => type === 'NodeAdded');
  const next = drafts.findIndex(({ type }, i) => i > first && (type === 'StepTaken' || type === 'RolloutStarted'));
  return first === -1 || next === -1 ? drafts : drafts.slice(0, next);
}
