import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Appender, createAppender } from '../../append/appender.ts';
import { BlobMissing } from '../../blobs/blob-store.ts';
import { pairPaths } from '../../domain/revision/pair-paths.ts';
import type { Environment, EnvironmentKind } from '../../environments/environment.ts';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { DEFAULT_STAMP } from '../../events/envelope.ts';
import { newId } from '../../events/new-id.ts';
import type { Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { createJudge, parseJudgeText } from '../../policies/judge.ts';
import { readRevisions } from '../../projections/revisions/read-revisions.ts';
import { readSearchedTree, readTreeIds } from '../../projections/revisions/read-searched-trees.ts';
import { revisionContentHash } from '../../projections/revisions/revision-content.ts';
import { revisionTurns } from '../../projections/revisions/revision-turns.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { loseText } from '../../testing/lose-text.ts';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { startOpenAiServer } from '../../testing/openai-server.ts';
import { collect } from '../collect/collect.ts';
import type { CollectPlan } from '../collect/plan.ts';
import { type ReviseCounts, type ReviseOptions, reviseRun } from './revise-run.ts';

interface Place {
  readonly platform: Platform;
  readonly projector: Subscription;
}
let place: Place;
let textcraft: EnvironmentKind;
beforeAll(async () => {
  place = await openPlace();
  textcraft = await openTextCraft();
});
afterAll(async () => {
  await closePlace(place);
  await textcraft.close();
});

async function openPlace(): Promise<Place> {
  const platform = await openTestPlatform();
  return { platform, projector: await runProjections({ log: platform.log, database: platform.database }) };
}
async function closePlace({ platform, projector }: Place): Promise<void> {
  await projector.close();
  await platform.close();
}

const settle = async ({ platform }: Place) =>
  waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });

const TASKS = ['1', '45'].map((alias) => ({ alias, rollouts: 6, branching: 'root' as const }));
const SEARCH: CollectPlan = {
  environment: 'textcraft',
  tasks: TASKS,
  taskSeed: 0,
  policy: 'planner:0.5',
  temperature: 1,
  maxSteps: 8,
  search: { iterations: 2, candidates: 3, maxDepth: 6, exploration: 0.25 },
};

async function collected(at: Place, plan: CollectPlan = SEARCH, runId: string = newId()): Promise<string> {
  const signal = new AbortController().signal;
  await collect(at.platform, { runId, name: 'r', seed: 3, plan, concurrency: 2, signal, mode: 'new' });
  await settle(at);
  return runId;
}

/** Mines with a process of its own, which may be killed after some appends. */
async function revise(
  at: Place,
  runId: string,
  options: Partial<ReviseOptions> & { readonly judgeText?: string; readonly appends?: number } = {},
): Promise<ReviseCounts | 'killed'> {
  await settle(at);
  const { platform } = at;
  const { db } = platform.database;
  const inner = createAppender({
    log: platform.log,
    blobs: platform.blobs,
    stamp: DEFAULT_STAMP,
    producer: { name: 'reviser', version: 'test' },
    clock: Date.now,
    sequenceOf: async (stream) => {
      const row = await db
        .selectFrom('streamProducers')
        .select('sequence')
        .where('stream', '=', stream)
        .where('producer', '=', 'reviser')
        .executeTakeFirst();
      return row ? row.sequence + 1 : 0;
    },
  });
  let left = options.appends ?? Number.POSITIVE_INFINITY;
  const appender: Appender = { append: (drafts) => (left-- > 0 ? inner.append(drafts) : Promise.reject(new Error('killed'))) };
  try {
    return await reviseRun({
      db,
      runId,
      plannedTrees: null,
      read: null,
      appender,
      plan: { alpha: 0.5, beta: 0.2, seed: 1, signal: 'thought', beforeBranch: 'clamp', unparsed: 'continue' },
      judge: await createJudge(parseJudgeText(options.judgeText ?? 'planner', null), textcraft.fingerprint),
      kind: textcraft,
      checking: 'execute',
      resolve: async () => '',
      concurrency: 2,
      signal: new AbortController().signal,
      ...options,
    });
  } catch (error) {
    if ((error as Error).message !== 'killed') throw error;
    return 'killed';
  } finally {
    await settle(at);
  }
}

/** All that a mining left in the read models, without times and places in the log. */
async function mined({ platform }: Place, runId: string) {
  const { db } = platform.database;
  const revisions = await db.selectFrom('revisions').selectAll().where('runId', '=', runId).orderBy('revisionId').execute();
  const judgements = await db.selectFrom('judgements').selectAll().where('runId', '=', runId).orderBy('judgementId').execute();
  return {
    revisions: revisions.map(({ composedAt: _c, checkedAt: _k, logOffset: _o, ...row }) => row),
    judgements: judgements.map(({ judgedAt: _j, logOffset: _o, reusedFrom: _r, ...row }) => row),
  };
}

async function faults({ platform }: Place): Promise<readonly unknown[]> {
  const { db } = platform.database;
  return [
    ...(await db.selectFrom('anomalies').selectAll().execute()),
    ...(await db.selectFrom('quarantine').selectAll().execute()),
  ];
}

function counted(counts: ReviseCounts | 'killed'): ReviseCounts {
  if (counts === 'killed') throw new Error('it was killed');
  return counts;
}

describe('revisions mined from a search', () => {
  test('a tree of which a text is lost is counted and left out, and the others are mined', async () => {
    const runId = await collected(place);
    await loseText(place.platform.database.db, runId);
    const resolve = async (sha256: string) => Promise.reject(new BlobMissing(sha256));
    expect(counted(await revise(place, runId, { resolve }))).toMatchObject({ trees: 1, plannedTrees: 2, unreadable: 1 });
  });

  test('mining verifies the revisions that reach alpha when executed, and rejects those that differ from their composition', async () => {
    const runId = await collected(place);
    const counts = counted(await revise(place, runId));
    expect(counts.verified).toBeGreaterThan(0);
    expect(counts.rejected.impossible).toBeGreaterThan(0);
    expect(counts).toMatchObject({ trees: 2, plannedTrees: 2 });
    expect(counts.revisions).toBe(counts.verified + counts.rejected.impossible);
    const { db } = place.platform.database;
    const treeIds = await readTreeIds(db, runId);
    const revisions = await readRevisions(db, treeIds);
    expect(revisions).toHaveLength(counts.revisions);
    for (const row of revisions) {
      const tree = await readSearchedTree(db, row.treeId, async () => '');
      if (!tree) throw new Error('the tree is there');
      const pair = pairPaths(tree.tree, { alpha: row.alpha, beta: row.beta }).pairs.find(
        ({ good, bad }) => good.leafStepId === row.goodLeafStepId && bad.leafStepId === row.badLeafStepId,
      );
      if (!pair) throw new Error('a revision comes from a pair');
      const turns = revisionTurns(tree.tree, row);
      expect(revisionContentHash(tree, turns)).toBe(row.contentHash);
      const branch = pair.branch === 0 ? tree.tree.root.step.stepId : pair.bad.steps[pair.branch - 1]?.stepId;
      expect(row.branchStepId).toBe(branch);

      const environment = await textcraft.create();
      await environment.reset({ alias: tree.alias, seed: tree.seed });
      const seen: string[] = [];
      let reward = 0;
      for (const { response } of turns) {
        const result = await environment.step(environment.parse(response).action);
        seen.push(result.observation);
        reward = result.reward.value;
      }
      const asWritten = turns.every(({ observation }, i) => observation === seen[i]) && reward >= row.alpha;
      expect([row.state, row.reached]).toEqual(asWritten ? ['verified', reward] : ['rejected', null]);
    }
    expect(await faults(place)).toEqual([]);
  });

  test('mining killed repeatedly ends with the judgements and revisions of an undisturbed one, each once', async () => {
    const elsewhere = await openPlace();
    try {
      const runId = newId();
      await collected(place, SEARCH, runId);
      await collected(elsewhere, SEARCH, runId);
      const whole = counted(await revise(elsewhere, runId));
      let kills = 0;
      let appends = 1;
      let counts = await revise(place, runId, { appends });
      for (; counts === 'killed'; counts = await revise(place, runId, { appends })) {
        kills++;
        appends = (appends * 2) % 97; // 1, 2, 4, … 64, 31, 62, …: cuts between and within judging, composing, checking
        if (kills > 200) throw new Error('no progress');
      }
      expect(kills).toBeGreaterThan(3);
      expect({ ...counts, asked: whole.asked }).toEqual(whole);
      expect(await mined(place, runId)).toEqual(await mined(elsewhere, runId));
      expect(await faults(place)).toEqual([]);

      const ends = await place.platform.log.ends(TOPICS);
      expect(await revise(place, runId)).toEqual({ ...whole, asked: 0 });
      expect(await place.platform.log.ends(TOPICS)).toEqual(ends);
    } finally {
      await closePlace(elsewhere);
    }
  });

  test('mining verifies later what was composed without verification', async () => {
    const runId = await collected(place);
    const composed = counted(await revise(place, runId, { checking: 'none' }));
    expect(composed).toMatchObject({ verified: 0, rejected: { diverged: 0, impossible: 0, below: 0 } });
    expect(new Set((await mined(place, runId)).revisions.map(({ state }) => state))).toEqual(new Set(['composed']));
    const checked = counted(await revise(place, runId));
    expect(checked.verified + checked.rejected.impossible).toBe(composed.revisions);
  });

  test('mining with another alpha adds revisions and keeps the existing ones', async () => {
    const runId = await collected(place);
    await revise(place, runId, { checking: 'none' });
    const before = (await mined(place, runId)).revisions;
    const plan = { alpha: 1, beta: 0.2, seed: 1, signal: 'thought', beforeBranch: 'clamp', unparsed: 'continue' } as const;
    await revise(place, runId, { checking: 'none', plan });
    const after = (await mined(place, runId)).revisions;
    expect(after.filter(({ alpha }) => alpha === 0.5)).toEqual(before);
    expect(after.filter(({ alpha }) => alpha === 1)).toHaveLength(before.length); // rewards are 0 or 1 here
  });

  test('mining without a judge keeps the whole bad trajectory', async () => {
    const runId = await collected(place);
    const counts = counted(await revise(place, runId, { judgeText: 'direct' }));
    expect(counts).toMatchObject({ judged: 0, asked: 0, meanRevisionLength: null });
    const { revisions } = await mined(place, runId);
    expect(revisions.length).toBeGreaterThan(0);
    for (const row of revisions)
      expect(row).toMatchObject({ transitionStepId: row.badLeafStepId, transitionCause: 'direct', judge: 'direct@1' });
  });

  test('mining refuses an environment that the trees do not come from', async () => {
    const runId = await collected(place);
    const other = { ...textcraft, fingerprint: 'f'.repeat(64) };
    await expect(revise(place, runId, { kind: other })).rejects.toMatchObject({ name: 'AnotherWorld' });
    expect(await mined(place, runId)).toEqual({ revisions: [], judgements: [] });
  });

  test('mining rejects every revision in an environment that answers differently', async () => {
    const runId = await collected(place);
    const drift = (inner: Environment): Environment => ({
      ...inner,
      step: async (action) => ({ ...(await inner.step(action)), observation: 'Nothing happens.' }),
      clone: async () => drift((await inner.clone?.()) ?? inner),
    });
    const drifted: EnvironmentKind = { ...textcraft, create: async () => drift(await textcraft.create()) };
    const counts = counted(await revise(place, runId, { judgeText: 'direct', kind: drifted }));
    expect(counts.rejected.diverged).toBe(counts.revisions);
    expect(counts.verified).toBe(0);
  });

  test('an abort leaves the rest unmined', async () => {
    const runId = await collected(place);
    expect(await revise(place, runId, { signal: AbortSignal.abort() })).toMatchObject({ trees: 0, plannedTrees: 2 });
    expect(await mined(place, runId)).toEqual({ revisions: [], judgements: [] });
  });
});

describe('groups of rollouts', () => {
  test('a group is mined as a tree that branches at its root', async () => {
    const runId = await collected(place, { ...SEARCH, policy: 'planner:0.8', maxSteps: 5, search: null });
    const counts = counted(await revise(place, runId));
    expect(counts.good).toBeGreaterThan(0);
    expect(counts.bad).toBeGreaterThan(0);
    expect(counts.pairs).toBeGreaterThanOrEqual(counts.bad);
    expect(counts.revisions).toBeGreaterThan(0);
  });
});

describe('a model as judge', () => {
  test('the model is asked each question once, in this run and the next, and nonsense is not a verdict', async () => {
    const replies = ['Judgement: <Uncertain>', '', 'It is not good.', 'Judgment: Bad'];
    const server = await startOpenAiServer({
      reply: (request) => {
        const content = request.messages[0]?.content ?? '';
        const recorded = content.slice(content.lastIndexOf('Task Description:'));
        return replies[[...recorded].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % replies.length] ?? '';
      },
    });
    try {
      const judgeText = `openai:judge@${server.url}`;
      const first = await collected(place);
      const counts = counted(await revise(place, first, { judgeText, checking: 'none', kind: null }));
      const { verdicts } = counts;
      expect(verdicts.unparsed).toBeGreaterThan(0);
      expect(verdicts.uncertain).toBeGreaterThan(0);
      expect(verdicts.bad).toBeGreaterThan(0);
      expect(verdicts.good).toBe(0);
      expect(counts.asked).toBe(server.requests.length);
      expect(new Set(server.requests.map(({ text }) => text)).size).toBe(server.requests.length);
      expect(counts.judged).toBeGreaterThan(counts.asked);

      const second = await collected(place); // the same tasks, policy and seed: the same words
      const again = counted(await revise(place, second, { judgeText, checking: 'none', kind: null }));
      expect(again).toEqual({ ...counts, asked: 0 });
      expect(server.requests).toHaveLength(counts.asked);
      const { db } = place.platform.database;
      const reused = await db
        .selectFrom('judgements as again')
        .innerJoin('judgements as first', 'first.judgementId', 'again.reusedFrom')
        .select(['again.verdict', 'first.verdict as before', 'again.reply', 'first.reply as said', 'first.runId'])
        .where('again.runId', '=', second)
        .execute();
      expect(reused).toHaveLength(counts.judged);
      for (const row of reused) expect(row).toMatchObject({ verdict: row.before, reply: row.said, runId: first });
    } finally {
      await server.close();
    }
  });

  test('an unreachable model stops the mining with the remedy, and the mining can be resumed', async () => {
    const server = await startOpenAiServer({ reply: () => 'Judgement: <Bad>' });
    const url = server.url;
    const judgeText = JSON.stringify({ kind: 'openai', model: 'gone', baseUrl: url, attempts: 1 });
    const runId = await collected(place);
    server.fail({ kind: 'none' }, { kind: 'none' }, { kind: 'status', status: 503 });
    await expect(revise(place, runId, { judgeText, concurrency: 1 })).rejects.toThrow(/the model server at .* see that it runs/);
    expect((await mined(place, runId)).judgements.length).toBeGreaterThanOrEqual(2);
    const counts = counted(await revise(place, runId, { judgeText, concurrency: 1 }));
    expect(counts.verdicts).toEqual({ good: 0, bad: counts.bad, uncertain: 0, unparsed: 0 });
    await server.close();
  });
});
