import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { stampOf } from '../../events/envelope.ts';
import { newId } from '../../events/new-id.ts';
import { openPlatform } from '../../platform/open-platform.ts';
import type { Db } from '../../postgres/database.ts';
import { setPayloadPolicy } from '../../postgres/payload-policies.ts';
import { keepSnapshots } from '../../projections/as-of/snapshots.ts';
import { everyTrajectory, type TrajectoryQuery } from '../../projections/trajectories/trajectory-query.ts';
import { readConfig } from '../../runtime/config.ts';
import { environmentOf, plan, settle } from '../../testing/crashing-run.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { recordDrawnHistories } from '../../testing/record-drawn-histories.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { killRunning, runInProcess } from '../../testing/worker-process.ts';
import { collect } from '../collect/collect.ts';
import { exportTrajectories } from '../datasets/export/export-trajectories.ts';
import type { ExportFormat } from '../datasets/export/formats.ts';
import { exportRows } from '../datasets/rows/export-rows.ts';
import { ROW_FORMATS } from '../datasets/rows/row-options.ts';
import { planFork } from '../fork/fork.ts';
import { replayEnvironment } from '../replay/replay-environment.ts';
import { revise } from '../revise/revise.ts';
import { replayScores } from '../score/replay-scores.ts';
import { score } from '../score/score.ts';
import { forget, planForgetting } from './forget.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const signal = new AbortController().signal;
const runId = newId();
const query: TrajectoryQuery = { ...everyTrajectory, runs: [runId] };
let gone: { readonly treeId: string; readonly alias: string };
let kept: { readonly treeId: string; readonly alias: string };
let before: Awaited<ReturnType<typeof platform.log.ends>>;

beforeAll(async () => {
  const { db } = platform.database;
  await setPayloadPolicy(db, 'default', { seal: true });
  const planned = { ...plan, tasks: plan.tasks.slice(0, 2) };
  await collect(platform, { runId, name: 'partly', seed: 3, plan: planned, concurrency: 2, mode: 'new', signal });
  await settle(platform);
  before = await platform.log.ends(TOPICS);
  const trees = await db.selectFrom('trees').select(['treeId', 'alias']).where('runId', '=', runId).orderBy('alias').execute();
  [gone = trees[0] as never, kept = trees[1] as never] = trees; // the two that were planned
  await forgetAll({ kind: 'trees', ids: [gone.treeId] });
});
afterAll(killRunning);

async function forgetAll(asked: Parameters<typeof planForgetting>[1]): Promise<void> {
  const options = { by: 'tester', reason: 'asked for', signal, limitMs: 60_000, progress: () => undefined, blobGraceMs: 0 };
  await forget(platform, await planForgetting(platform, asked), options);
}

const out = (name: string) => join(platform.home, `${newId()}-${name}`);

async function exporting(format: ExportFormat, of: TrajectoryQuery, db: Db = platform.database.db): Promise<string> {
  const to = out(format.kind);
  const options = {
    existing: 'replace',
    empty: 'refuse',
    codeVersion: 'test',
    waitMs: 60_000,
    onProgress: () => undefined,
  } as const;
  await exportTrajectories({ db, blobs: platform.blobs, query: of, format, out: to, ...options, signal });
  return readFile(to, 'utf8');
}

const weights = 'own';
const metadata = 'omit';
const FORMATS: readonly ExportFormat[] = [
  ...(['openai', 'xtuner', 'trl'] as const).map((kind) => ({ kind, weights, metadata }) as const),
  ...(['sharegpt', 'parquet'] as const).map((kind) => ({ kind, weights }) as const),
  ...(['trajectories', 'trees'] as const).map((scope) => ({ kind: 'jsonl', scope }) as const),
  { kind: 'trl-grpo', metadata },
  { kind: 'verl', layout: 'step' },
];

describe('exports', () => {
  test.each(FORMATS)(
    '$kind is refused with the number of forgotten trajectories, and written of those that are kept',
    async (format) => {
      await expect(exporting(format, query)).rejects.toMatchObject({
        name: 'DatasetError',
        code: 'forgotten',
        message: expect.stringContaining('the payload of 3 of the 6 trajectories is forgotten'),
      });
      expect(await exporting(format, { ...query, tasks: [kept.alias] })).not.toContain('[forgotten]');
    },
  );

  test.each(ROW_FORMATS)('mined examples as %s are refused with the number of forgotten trajectories', async (kind) => {
    const exported = exportRows({
      db: platform.database.db,
      blobs: platform.blobs,
      query,
      general: null,
      out: out(kind),
      existing: 'refuse',
      codeVersion: 'test',
      waitMs: 60_000,
      signal,
      onProgress: () => undefined,
      format: { kind, metadata, span: 'trajectory' },
      parameters: {
        data: kind === 'dpo' ? 'pairs' : 'good',
        thresholds: { alpha: 0.5, beta: 0.2 },
        state: 'verified',
        gates: { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null },
      },
    });
    await expect(exported).rejects.toMatchObject({ code: 'forgotten' });
  });

  test('as of a moment before the forgetting they are refused too, and the read models of then hold placeholders', async () => {
    const snapshots = keepSnapshots(platform.database, platform.directUrl, { records: 100_000 });
    try {
      const { db, release } = await snapshots.at({ kind: 'position', position: before }, 'all', signal);
      await expect(exporting({ kind: 'jsonl', scope: 'trees' }, query, db)).rejects.toMatchObject({ code: 'forgotten' });
      const texts = await db.selectFrom('steps').select('observation').where('treeId', '=', gone.treeId).execute();
      expect(new Set(texts.map(({ observation }) => observation))).toEqual(new Set(['[forgotten]']));
      release();
    } finally {
      await snapshots.close();
    }
  });

  test('events of a run that shows a forgotten history segment again have the text that it recorded itself', async () => {
    const [text] = ['[Observation]: a hall [Action]: north'];
    const shown = ['first', 'second'].map((name) => {
      const builder = new EventBuilder(name);
      const tree = builder.tree(builder.run(name), name);
      recordDrawnHistories(builder, tree, builder.walk(tree, 0, 2, 1).steps, { records: [text] });
      return { runId: tree.runId, events: builder.events };
    });
    for (const { events, runId: id } of shown) {
      const another = await openPlatform(readConfig(environmentOf(platform)), 'test'); // one that appends goes on by its keys for a minute
      await another.log.append(await prepareEvents(events, platform.blobs, stampOf({})));
      await another.close();
      await settle(platform);
      if (id === shown[0]?.runId) await forgetAll({ kind: 'runs', ids: [id] });
    }
    const written = await exporting({ kind: 'jsonl', scope: 'trees' }, { ...everyTrajectory, runs: [shown[1]?.runId ?? ''] });
    expect(written).toContain(text);
    expect(written).not.toContain('[forgotten]');
  });
});

describe('what is done over from the record', () => {
  test('replays leave forgotten trees out and say so, and nothing that is kept differs', async () => {
    const environment = await replayEnvironment(platform, { runId, environment: null, signal });
    const scores = await replayScores(platform, { runId, asked: { kind: 'as-recorded' }, environment: null, signal });
    for (const report of [environment, scores]) {
      expect(report).toMatchObject({ outcome: 'equal' });
      expect(report.notes).toContain('trees that are left out, since their payload is forgotten: 1');
    }
  });

  test('scoring and mining leave forgotten trees out and count them', async () => {
    const scored = await score(platform, { runId, scorer: 'invalid-action', component: null, environment: null, signal });
    expect(scored).toMatchObject({ trees: 1, forgotten: 1 });
    await settle(platform);
    const mined = await revise(platform, {
      runId,
      judge: 'planner',
      environment: null,
      checking: 'execute',
      concurrency: 1,
      signal,
      plan: { alpha: 0.5, beta: 0.2, seed: 1, signal: 'thought', beforeBranch: 'clamp', unparsed: 'continue' },
    });
    expect(mined).toMatchObject({ trees: 1, forgotten: 1 });
    const { rows } = await platform.database.pool.query('select distinct tree_id from rewards where component <> $1', [
      'environment',
    ]);
    expect(rows.map(({ tree_id }) => tree_id)).toEqual([kept.treeId]);
  });

  test('nothing is forked from a forgotten step', async () => {
    const step = await platform.database.db
      .selectFrom('steps')
      .select('stepId')
      .where('treeId', '=', gone.treeId)
      .where('depth', '=', 1)
      .executeTakeFirstOrThrow();
    await expect(planFork(platform, step.stepId, { rollouts: 1 })).rejects.toThrow(
      `the payload of tree ${gone.treeId} is forgotten`,
    );
  });

  test('a run of which an open tree is forgotten is not gone on with', async () => {
    const stopping = new AbortController();
    const open = { runId: newId(), name: 'open', seed: 4, plan, concurrency: 1 };
    await collect(platform, { ...open, mode: 'new', signal: stopping.signal, progress: () => stopping.abort() });
    await settle(platform);
    await forgetAll({ kind: 'runs', ids: [open.runId] });
    await expect(collect(platform, { ...open, mode: 'resume', signal })).rejects.toThrow(
      /the payload of \d+ open trees of run \S+ is forgotten: nothing can go on from it/,
    );
  });
});

test('`status` and `tree` say which run and which tree are forgotten', async () => {
  const espalier = async (...args: string[]) => (await runInProcess(args, environmentOf(platform))).stdout;
  expect(await espalier('status')).toMatch(new RegExp(`${runId} +partly +\\S+ +completed, forgotten`));
  expect(await espalier('tree', gone.treeId)).toContain('its payload is forgotten: it has no digest');
  expect(JSON.parse(await espalier('tree', gone.treeId, '--json'))).toMatchObject({ digest: null, forgotten: true });
  expect(JSON.parse(await espalier('tree', kept.treeId, '--json'))).toMatchObject({
    digest: expect.any(String),
    forgotten: false,
  });
});
