import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { prepareEvents } from '../../append/prepare-events.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { DEFAULT_STAMP, type Envelope } from '../../events/envelope.ts';
import { journal } from '../../projections/journal/journal.ts';
import { projections } from '../../projections/registry.ts';
import { runProjections } from '../../projections/runner.ts';
import { everyTrajectory } from '../../projections/trajectories/trajectory-query.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendTo, projectSlice, testLog } from '../../testing/given-events.ts';
import { emptyReadModels, readModels } from '../../testing/read-models.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { exportTrajectories } from '../datasets/export/export-trajectories.ts';
import { rebuildProjection } from '../rebuild/rebuild-projection.ts';
import { replayProjections } from '../replay/replay-projections.ts';
import { verifyRecord } from './verify-record.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-foreign-'));
});
afterEach(() => rm(folder, { recursive: true }));

const { signal } = new AbortController();

/**
 * A run of three trees, and another run whose metrics were recorded, before, under the ids that the first one's events derive:
 * those of its trees' openings, of a metric, of a revision and of a back-up.
 */
function givenForeignIds() {
  const own = new EventBuilder('victim');
  const runId = own.run();
  for (const name of ['a', 'b', 'c']) {
    const tree = own.tree(runId, name);
    const { steps } = own.walk(tree, 0, 3, 1);
    recordFollowers(own, tree, steps);
  }
  own.record('MetricRecorded', { runId, metric: 'loss', value: 1, at: 0 }, runId);
  const foreign = new EventBuilder('squatter');
  const otherRun = foreign.run();
  const wanted = own.events.filter(({ type }) =>
    ['TreeOpened', 'MetricRecorded', 'RewardRevised', 'ValueBackedUp'].includes(type),
  );
  const squatting = wanted.map(({ id }, i) => ({
    ...foreign.record('MetricRecorded', { runId: otherRun, metric: 'taken', value: i, at: i }, otherRun),
    id,
  }));
  const [started] = foreign.events;
  if (!started) throw new Error('the builder records a run');
  return { own: own.events, foreign: [started, ...squatting] };
}

/** A reward that is revised, a back-up and a judgement: facts that read models keep by the ids of their events. */
function recordFollowers(builder: EventBuilder, tree: { treeId: string; runId: string; rootStepId: string }, steps: string[]) {
  const [stepId = ''] = steps;
  const rewardId = builder.reward(tree, stepId, 0.5);
  const revised = { rewardId, treeId: tree.treeId, value: 0.25, scorer: { name: 'judge', revision: '1' }, reason: 'seen again' };
  builder.record('RewardRevised', revised, tree.runId);
  const path = [tree.rootStepId, stepId];
  builder.record('ValueBackedUp', { treeId: tree.treeId, simulation: 0, leafStepId: stepId, value: 0.5, path }, tree.runId);
}

test('ids of events that another stream has taken change no export, verdict, replay or rebuild', async () => {
  const { own, foreign } = givenForeignIds();
  const { log, blobs, database } = platform;
  const { db } = database;
  await log.append(await prepareEvents([...foreign, ...own], blobs, DEFAULT_STAMP));
  const runner = await runProjections({ log, database });
  await waitUntilProjected(db, await log.ends(TOPICS), { timeoutMs: 15_000 });
  await runner.close();

  expect(await db.selectFrom('quarantine').select(['projection', 'reason']).execute()).toEqual([]);
  const out = join(folder, 'all.jsonl');
  await exportTrajectories({
    db,
    blobs,
    query: everyTrajectory,
    format: { kind: 'jsonl', scope: 'trajectories' },
    out,
    codeVersion: 'test',
    existing: 'refuse',
    empty: 'refuse',
    waitMs: 10_000,
    signal,
    onProgress: () => undefined,
  });
  const written = (await readFile(out, 'utf8')).trimEnd().split('\n').slice(1, -1);
  const types = written.map((line) => (JSON.parse(line) as Envelope).type);
  expect(types.filter((type) => type === 'TreeOpened')).toHaveLength(3);
  expect(types.filter((type) => type === 'StepTaken')).toHaveLength(9);
  expect((await verifyRecord(platform, { files: [], signal })).faults).toEqual([]);
  const watching = { signal, progress: () => undefined, limitMs: 20_000 };
  expect((await replayProjections(platform, projections, watching)).report.outcome).toBe('equal');
  expect(await rebuildProjection(platform, journal, { ...watching, differing: 'refuse' })).toMatchObject({ kind: 'swapped' });
});

test('the rows are the same whichever topic is delivered first', async () => {
  const { own, foreign } = givenForeignIds();
  const { db } = platform.database;
  const log = testLog();
  appendTo(log, [...foreign, ...own]);
  const found: unknown[] = [];
  for (const topics of [
    ['runs', 'trees'],
    ['trees', 'runs'],
  ]) {
    await emptyReadModels(db);
    for (const topic of topics) await projectSlice(db, log, topic, 0, log.topics.get(topic)?.length ?? 0);
    const quarantine = await db.selectFrom('quarantine').select(['projection', 'topic', 'offset', 'code']).execute();
    found.push({ ...(await readModels(db)), quarantine });
  }
  expect(found[1]).toEqual(found[0]);
  expect(found[0]).toMatchObject({ quarantine: [] });
});

test('events of one id in two streams are both facts, in every read model that keeps its rows by the ids of events', async () => {
  const builder = new EventBuilder('twins');
  const runs = [builder.run('first'), builder.run('second')];
  const first = new Map<string, string>();
  const events: Envelope[] = [];
  for (const runId of runs) {
    const tree = builder.tree(runId);
    recordFollowers(builder, tree, builder.walk(tree, 0, 2, 1).steps);
    builder.record('MetricRecorded', { runId, metric: 'loss', value: 1, at: 0 }, runId);
    for (const event of builder.events.splice(0)) {
      const kept = ['MetricRecorded', 'RewardRevised', 'ValueBackedUp'].includes(event.type);
      const id = kept ? (first.get(event.type) ?? event.id) : event.id;
      if (kept) first.set(event.type, id);
      events.push({ ...event, id: kept ? id : builder.id(runId, events.length) });
    }
  }
  const { db } = platform.database;
  const log = testLog();
  appendTo(log, events);
  for (const topic of ['runs', 'trees']) await projectSlice(db, log, topic, 0, log.topics.get(topic)?.length ?? 0);
  expect(await db.selectFrom('quarantine').select('reason').execute()).toEqual([]);
  for (const table of ['metrics', 'rewardRevisions', 'backups'] as const)
    expect(await db.selectFrom(table).select('eventId').execute()).toHaveLength(2);
  expect(await db.selectFrom('events').select('eventId').execute()).toHaveLength(events.length);
});
