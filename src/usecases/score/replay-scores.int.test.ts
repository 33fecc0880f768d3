import { beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openEnvironment } from '../../environments/open-environment.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { newId } from '../../events/new-id.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { loseText } from '../../testing/lose-text.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { collect } from '../collect/collect.ts';
import { replayEnvironment } from '../replay/replay-environment.ts';
import { replayScores, type ScoreReplayOptions } from './replay-scores.ts';
import { score } from './score.ts';

const { signal } = new AbortController();
const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let runId: string;
beforeAll(async () => {
  runId = newId();
  const kind = await openEnvironment('search-qa');
  const aliases = kind.taskAliases.slice(0, 3);
  await kind.close();
  const plan = {
    environment: 'search-qa',
    taskSeed: 0,
    policy: 'planner:0.4',
    temperature: 1,
    maxSteps: 10,
    search: null,
    tasks: aliases.map((alias) => ({ alias, rollouts: 3, branching: 'anywhere' as const })),
  };
  await collect(platform, { runId, name: 'scores', seed: 1, plan, concurrency: 1, signal, mode: 'new' });
  await scoreWith('exact-match', null);
});

const settled = async () => waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
const replay = (asked: ScoreReplayOptions) => replayScores(platform, { runId, asked, environment: null, signal });
async function scoreWith(scorer: string, component: string | null) {
  await settled();
  await score(platform, { runId, scorer, component, environment: null, signal });
  await settled();
}

describe('scores as recorded', () => {
  test('every scored reward and every return is reproduced', async () => {
    expect(await replay({ kind: 'as-recorded' })).toMatchObject({ outcome: 'equal', compared: 18, differing: 0 }); // 9 rollouts
  });

  test('a reward changed in the read model is named by its event, with the return that it enters', async () => {
    const { db } = platform.database;
    const reward = await db
      .selectFrom('rewards')
      .select(['rewardId', 'value', 'rolloutId', 'treeId'])
      .where('component', '=', 'exact-match')
      .executeTakeFirstOrThrow();
    const set = (value: number) => db.updateTable('rewards').set({ value }).where('rewardId', '=', reward.rewardId).execute();
    await set(7);
    try {
      const { outcome, differences } = await replay({ kind: 'as-recorded' });
      expect(outcome).toBe('differs');
      const assigned = await db
        .selectFrom('events')
        .select('eventId')
        .where('type', '=', 'RewardAssigned')
        .where('body', 'like', `%${reward.rewardId}%`)
        .executeTakeFirstOrThrow();
      expect(differences).toMatchObject([
        {
          eventId: assigned.eventId,
          field: `exact-match by exact-match@1 of rollout ${reward.rolloutId}`,
          recorded: '7',
          replayed: String(reward.value),
        },
        { field: `return of rollout ${reward.rolloutId}` },
      ]);
    } finally {
      await set(reward.value);
    }
  });
});

describe('scores under other settings', () => {
  test('the predicted returns equal those after the same scorer is recorded', async () => {
    const options: ScoreReplayOptions = { kind: 'scorer', scorer: 'gsm8k-strict', component: 'environment' };
    const foretold = await replay(options);
    expect(foretold.outcome).toBe('differs');
    expect(foretold.notes.some((note) => note.startsWith('group '))).toBe(true);
    await scoreWith('gsm8k-strict', 'environment');
    const returns = await platform.database.db.selectFrom('returns').select(['rolloutId', 'value']).execute();
    const recorded = foretold.differences.filter(({ field }) => field.startsWith('return of rollout '));
    expect(recorded.length).toBeGreaterThan(0);
    for (const { field, replayed } of recorded)
      expect(Number(replayed)).toBe(returns.find(({ rolloutId }) => field.endsWith(rolloutId))?.value);
    expect(await replay(options)).toMatchObject({ outcome: 'equal' });
    expect(await replay({ kind: 'as-recorded' })).toMatchObject({ outcome: 'equal', differing: 0 });
  });

  test('another estimator keeps the returns and names the advantages that change', async () => {
    const { differences, notes } = await replay({ kind: 'estimator', name: 'grpo', options: { scale: 'none' } });
    expect(differences.every(({ field }) => field.startsWith('advantage of rollout '))).toBe(true);
    expect(notes[0]).toMatch(/^\d of 3 groups change; .* by grpo \{.*"scale":"std".*\} and by grpo \{.*"scale":"none"/);
  });

  test('an unknown scorer, estimator or run is refused with the known ones', async () => {
    await expect(replay({ kind: 'scorer', scorer: 'nobody', component: null })).rejects.toThrow(
      /no scorer "nobody"; there are qa-em-format@/,
    );
    await expect(replay({ kind: 'estimator', name: 'nobody', options: {} })).rejects.toThrow(
      /no estimator nobody; there are gae/,
    );
    const other = { runId: newId(), asked: { kind: 'as-recorded' }, environment: null, signal } as const;
    await expect(replayScores(platform, other)).rejects.toThrow(/there is no run/);
  });
});

describe('a scorer that reads the rewards of the environment', () => {
  test('the scorer receives the rewards as they were when it judged, whatever was recorded later', async () => {
    await scoreWith('exact-match', 'environment');
    await scoreWith('environment-outcome', null);
    expect(await valuesOf('environment-outcome')).toContain(1);
    // 9 rollouts: 3 rewards and the return
    expect(await replay({ kind: 'as-recorded' })).toMatchObject({ outcome: 'equal', compared: 36, differing: 0 });
    await scoreWith('invalid-action', 'environment');
    expect(await valuesOf('environment')).not.toContain(1);
    expect(await replay({ kind: 'as-recorded' })).toMatchObject({ outcome: 'equal', compared: 36, differing: 0 });
    await scoreWith('environment-outcome', 'environment');
    expect(await replay({ kind: 'as-recorded' })).toMatchObject({ outcome: 'equal', compared: 36, differing: 0 });
  });

  test('a different judgement of the scorer is still detected, by its event', async () => {
    const { db } = platform.database;
    const reward = await db
      .selectFrom('rewards')
      .select(['rewardId', 'value'])
      .where('component', '=', 'environment-outcome')
      .where('value', '=', 1)
      .executeTakeFirstOrThrow();
    const set = (value: number) => db.updateTable('rewards').set({ value }).where('rewardId', '=', reward.rewardId).execute();
    await set(0);
    try {
      const { differences } = await replay({ kind: 'as-recorded' });
      const recorded = await db.selectFrom('events').select('eventId').where('body', 'like', `%${reward.rewardId}%`).execute();
      expect(differences[0]).toMatchObject({ eventId: recorded[0]?.eventId, recorded: '0', replayed: '1' });
    } finally {
      await set(reward.value);
    }
  });
});

async function valuesOf(component: string): Promise<readonly number[]> {
  const { db } = platform.database;
  const rows = await db.selectFrom('rewards').select('value').where('component', '=', component).execute();
  return rows.map(({ value }) => value);
}

test('a tree of which a text is lost is a difference of its own, and keeps no other tree from being replayed or scored', async () => {
  const { db } = platform.database;
  const before = await sql<{ treeId: string; stepId: string; observation: string }>`
    select s.tree_id, s.step_id, s.observation from steps s join trees t using (tree_id) where t.run_id = ${runId}`.execute(db);
  const treeId = await loseText(db, runId);
  const named = [expect.objectContaining({ field: 'texts', eventId: derivedId('TreeOpened', treeId) })];
  try {
    const asRecorded = await replay({ kind: 'as-recorded' });
    expect(asRecorded).toMatchObject({ outcome: 'differs', differing: 1, differences: named });
    expect(asRecorded.compared).toBeGreaterThan(1);
    const pairs = await replay({ kind: 'thresholds', thresholds: { alpha: null, beta: null } });
    expect(pairs).toMatchObject({ differing: 1, differences: named });
    const again = await replayEnvironment(platform, { runId, environment: null, signal });
    expect(again).toMatchObject({ outcome: 'differs', differences: named });
    const counts = await score(platform, { runId, scorer: 'invalid-action', component: 'seen', environment: null, signal });
    expect(counts).toMatchObject({ trees: 2, unreadable: 1 });
    await settled();
  } finally {
    for (const { stepId, observation } of before.rows)
      await db
        .updateTable('steps')
        .set({ observation, blobs: null })
        .where('stepId', '=', stepId)
        .where('observation', '=', '')
        .execute();
  }
});
