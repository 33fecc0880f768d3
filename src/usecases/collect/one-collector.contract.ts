import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import type { LogRecord, Subscription } from '../../log/event-log.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { journal } from '../../projections/journal/journal.ts';
import { rewards } from '../../projections/rewards/rewards.ts';
import { runProjections } from '../../projections/runner.ts';
import { runs } from '../../projections/runs/runs.ts';
import { stepTree } from '../../projections/step-tree/step-tree.ts';
import { everyTrajectory } from '../../projections/trajectories/trajectory-query.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { freezeInAppend } from '../../testing/freeze-append.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { until } from '../../testing/until.ts';
import { runDigest } from '../datasets/digest-trees.ts';
import { exportTrajectories } from '../datasets/export/export-trajectories.ts';
import { agentTrajDefaults } from '../datasets/import/agent-traj-options.ts';
import { importTrajectories } from '../datasets/import/import-trajectories.ts';
import { replayProjections } from '../replay/replay-projections.ts';
import { revise } from '../revise/revise.ts';
import { score } from '../score/score.ts';
import { verifyRecord } from '../verify/verify-record.ts';
import { type Collection, collect } from './collect.ts';
import { RunBusy, RunTakenOver } from './hold-run.ts';
import type { CollectPlan } from './plan.ts';

/**
 * Describes what holds of a run that one collector began, froze in, and another went on with, over one event log.
 * @param late what becomes of records that the frozen one appends when it wakes.
 */
export function describeOneCollector(open: () => Promise<Platform>, late: 'refused' | 'superseded'): void {
  let platform: Platform;
  let projector: Subscription;
  let model: OpenAiServer;
  const frozen = new Set<Promise<unknown>>();
  beforeAll(async () => {
    platform = await open();
    projector = await runProjections({ log: platform.log, database: platform.database });
    let calls = 0; // a model that samples: never the same text again
    model = await startOpenAiServer({ reply: () => `Thought: ${++calls}.\nAction: inventory` });
  });
  afterEach(async () => {
    await Promise.allSettled(frozen);
  });
  afterAll(async () => {
    await model.close();
    await projector.close();
    await platform.close();
  });

  function collectionOf(runId: string): Collection {
    const plan: CollectPlan = {
      environment: 'textcraft',
      tasks: [{ alias: '40', rollouts: 2, branching: 'root' }],
      taskSeed: 0,
      temperature: 1,
      policy: `openai:fickle@${model.url}`,
      maxSteps: 3,
      search: null,
    };
    const { signal } = new AbortController();
    return { runId, name: 'frozen', seed: 3, plan, concurrency: 1, signal, mode: 'resume' };
  }

  const freezeAt = (type: string, collection: Collection) => freezeIn(type, (frozenAt) => collect(frozenAt, collection));

  async function freezeIn(type: string, work: (platform: Platform) => Promise<unknown>, at = platform) {
    const stopped = await freezeInAppend(at, type, work);
    frozen.add(stopped.ended);
    return stopped;
  }

  async function settle(at = platform): Promise<void> {
    await waitUntilProjected(at.database.db, await at.log.ends(TOPICS), { timeoutMs: 60_000 });
  }

  async function anomaliesOf(runId: string) {
    const { db } = platform.database;
    const streams = db.selectFrom('trees').select('treeId').where('runId', '=', runId);
    return db
      .selectFrom('anomalies')
      .select(['kind', 'stream'])
      .where((where) => where.or([where('stream', '=', runId), where('stream', 'in', streams)]))
      .execute();
  }

  test.each(['RunStarted', 'StepTaken', 'RunFinished'])(
    'a collector that froze in the append of %s changes nothing when it wakes after another one ended the run',
    async (type) => {
      const runId = newId();
      const first = await freezeAt(type, collectionOf(runId));
      const collected = await collect(platform, { ...collectionOf(runId), hold: { deadAfterMs: 0 } });
      expect(collected).toMatchObject({ state: 'completed', trees: 1, rollouts: 2, steps: 6 });
      await settle();
      const { digest, trees } = await runDigest(platform, runId);
      expect(await anomaliesOf(runId)).toEqual([]);

      first.wake();
      expect(await first.ended).toBeInstanceOf(RunTakenOver);
      await settle();
      expect(await runDigest(platform, runId)).toEqual({ digest, trees });
      const { db } = platform.database;
      expect(await db.selectFrom('quarantine').select(['projection', 'type', 'reason']).execute()).toEqual([]);
      const kinds = new Set((await anomaliesOf(runId)).map(({ kind }) => kind));
      expect([...kinds]).toEqual(late === 'superseded' ? ['superseded'] : []);
    },
  );

  const works: readonly { readonly who: string; readonly type: string; readonly plan: Partial<CollectPlan>; work: Work }[] = [
    {
      who: 'a scorer',
      type: 'RewardAssigned',
      plan: {},
      work: (at, runId) => score(at, { runId, scorer: 'invalid-action', component: null, environment: null, signal: never }),
    },
    {
      who: 'a judge that samples',
      type: 'StepJudged',
      plan: { policy: 'planner:0.4', search: { iterations: 4, candidates: 3, maxDepth: 6, exploration: 0.25 } },
      work: (at, runId) =>
        revise(at, {
          runId,
          judge: `openai:fickle@${model.url}`,
          environment: null,
          checking: 'none',
          concurrency: 1,
          signal: never,
          plan: { alpha: 0.5, beta: 0.2, seed: 1, unparsed: 'continue', signal: 'thought', beforeBranch: 'clamp' },
        }),
    },
  ];
  test.each(works)(
    '$who that froze in the append of $type changes nothing when another process did its work',
    async ({ type, plan, work }) => {
      const runId = newId();
      const collection = collectionOf(runId);
      await collect(platform, { ...collection, plan: { ...collection.plan, ...plan } });
      await settle();
      const first = await freezeIn(type, (at) => work(at, runId));
      await until(async () => {
        await platform.database.pool.query("update run_epochs set heard_at = heard_at - interval '1 minute' where run_id = $1", [
          runId,
        ]);
        return work(platform, runId).then(
          () => true,
          (error: unknown) => {
            if (error instanceof RunBusy) return false;
            throw error;
          },
        );
      });
      await settle();
      const { db } = platform.database;
      const recorded = () =>
        db
          .selectFrom('events')
          .select(['type', 'body'])
          .where('correlationId', '=', runId)
          .where('type', 'in', ['RewardAssigned', 'StepJudged'])
          .orderBy('eventId')
          .execute();
      const before = await recorded();
      expect(before.map((row) => row.type)).toContain(type);

      first.wake();
      expect(await first.ended).toBeInstanceOf(RunTakenOver);
      await settle();
      expect(await recorded()).toEqual(before);
      const kinds = new Set((await anomaliesOf(runId)).map(({ kind }) => kind));
      expect([...kinds]).toEqual(late === 'superseded' ? ['superseded'] : []);
      expect(await db.selectFrom('quarantine').select(['projection', 'type', 'reason']).execute()).toEqual([]);
    },
  );

  test('a run that was taken over is the same after its events are exported and imported, whatever its first collector appends late', async () => {
    const runId = newId();
    // its records are taken by either log: the folds distinguish them
    const unfenced = {
      ...platform,
      log: { ...platform.log, append: (records: readonly LogRecord[]) => platform.log.append(records.map(bare)) },
    };
    const first = await freezeIn('StepTaken', (frozenAt) => collect(frozenAt, collectionOf(runId)), unfenced);
    await collect(platform, { ...collectionOf(runId), hold: { deadAfterMs: 0 } });
    first.wake();
    await first.ended;
    await settle();
    const { db } = platform.database;
    const [late] = await db
      .selectFrom('superseded')
      .select(['body', 'stream'])
      .where('type', '=', 'StepTaken')
      .where('stream', 'in', db.selectFrom('trees').select('treeId').where('runId', '=', runId))
      .execute();
    if (late === undefined) throw new Error('nothing was appended late');
    const before = await runDigest(platform, runId);
    const folder = await mkdtemp(join(tmpdir(), 'espalier-taken-'));
    const elsewhere = await open();
    const projectorElsewhere = await runProjections({ log: elsewhere.log, database: elsewhere.database });
    try {
      const exported = (from: Platform, name: string, scope: 'trajectories' | 'trees') =>
        exportTrajectories({
          db: from.database.db,
          blobs: from.blobs,
          query: { ...everyTrajectory, runs: [runId] },
          codeVersion: 'test',
          format: { kind: 'jsonl', scope },
          out: join(folder, name),
          existing: 'refuse',
          empty: 'refuse',
          waitMs: 60_000,
          signal: never,
          onProgress: () => undefined,
        });
      const imported = (into: Platform, name: string) =>
        importTrajectories({
          source: join(folder, name),
          form: 'detect',
          db: into.database.db,
          blobs: into.blobs,
          badRows: 'refuse',
          agentTraj: agentTrajDefaults,
          appender: appenderAs('importer', into),
          signal: never,
          onProgress: () => undefined,
        });
      const counted = (await exported(platform, 'chosen', 'trajectories')).counts;
      await exported(platform, 'whole', 'trees');
      await imported(elsewhere, 'chosen');
      await settle(elsewhere);
      expect(await runDigest(elsewhere, runId)).toEqual(before);
      expect((await exported(elsewhere, 'again', 'trajectories')).counts).toEqual(counted);
      const read = (name: string) => readFile(join(folder, name), 'utf8');
      expect(await read('again')).toBe(await read('chosen'));

      // the same late append has no effect there either
      await elsewhere.log.append([{ topic: 'trees', key: late.stream, value: Buffer.from(late.body, 'utf8') }]);
      await settle(elsewhere);
      expect(await runDigest(elsewhere, runId)).toEqual(before);
      const kept = elsewhere.database.db.selectFrom('superseded').select('stream');
      expect(await kept.execute()).toEqual([{ stream: late.stream }]);
      expect(await elsewhere.database.db.selectFrom('quarantine').select('reason').execute()).toEqual([]);
      expect(await imported(elsewhere, 'whole')).toMatchObject({ alreadyThere: counted.lines - 2, events: counted.lines - 2 });

      // and no file brings back what the record holds without effect
      const lines = (await read('whole')).trimEnd().split('\n');
      const step = JSON.parse(late.body);
      const alone = { ...step, id: newId(), data: { ...step.data, stepId: newId() } };
      await platform.log.append([{ topic: 'trees', key: late.stream, value: Buffer.from(JSON.stringify(alone), 'utf8') }]);
      await settle();
      expect(await runDigest(platform, runId)).toEqual(before);
      const { id, type, schemaVersion, occurredAt, correlationId, causationId, data } = alone;
      const forged = { id, type, schemaVersion, occurredAt, correlationId, causationId, data };
      const at = lines.findIndex((line) => line.includes('"TreeClosed"'));
      lines.splice(at, 0, JSON.stringify(forged));
      const end = JSON.stringify({ end: { events: lines.length - 2 } });
      await writeFile(join(folder, 'forged'), `${[...lines.slice(0, -1), end].join('\n')}\n`);
      await expect(imported(platform, 'forged')).rejects.toThrow(
        new RegExp(`^.*forged line ${at + 1}: .*StepTaken ${id} .*a later one had taken over`),
      );
    } finally {
      await projectorElsewhere.close();
      await elsewhere.close();
      await rm(folder, { recursive: true });
    }
  });

  test('a collector that is alive is not replaced, and the refusal names it', async () => {
    const runId = newId();
    const first = await freezeAt('StepTaken', collectionOf(runId));
    const refused = await collect(platform, collectionOf(runId)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RunBusy);
    expect((refused as RunBusy).message).toMatch(
      new RegExp(`^run ${runId} is being collected by another process \\(pid ${process.pid} on .+, heard from \\d s ago\\); `),
    );
    first.wake();
    expect(await first.ended).toBeNull();
    await settle();
    expect(await anomaliesOf(runId)).toEqual([]);
  });

  test('a record with collectors that were replaced is intact, and folds to the same again', async () => {
    await settle();
    const patient = { signal: new AbortController().signal, limitMs: 60_000, progress: () => undefined };
    const { report } = await replayProjections(platform, [journal, runs, stepTree, rewards], patient);
    expect(report).toMatchObject({ outcome: 'equal', differences: [] });
    expect(await verifyRecord(platform, { files: [], signal: patient.signal })).toMatchObject({ faulty: 0, faults: [] });
    const { db } = platform.database;
    const kept = await db.selectFrom('superseded').select(['epoch', 'byEpoch', 'type']).execute();
    expect(kept.length).toBeGreaterThan(0); // of the run whose fences were left out above at least
    for (const { epoch, byEpoch } of kept) expect(byEpoch).toBe(epoch + 1);
  });
}

/** A record that the embedded log takes whatever the epochs of its run. */
function bare({ fence: _, ...record }: LogRecord): LogRecord {
  return record;
}

type Work = (platform: Platform, runId: string) => Promise<unknown>;
const never = new AbortController().signal;
