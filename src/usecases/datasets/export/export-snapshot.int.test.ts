import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Envelope } from '../../../events/envelope.ts';
import type { Db } from '../../../postgres/database.ts';
import { journal } from '../../../projections/journal/journal.ts';
import { rewards } from '../../../projections/rewards/rewards.ts';
import { runProjections } from '../../../projections/runner.ts';
import { runs } from '../../../projections/runs/runs.ts';
import { stepTree } from '../../../projections/step-tree/step-tree.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { appendTo, projectSlice, testLog } from '../../../testing/given-events.ts';
import { MemoryBlobs } from '../../../testing/memory-blobs.ts';
import { openTestWorld, type TestWorld } from '../../../testing/open-test-log.ts';
import { exportTrajectories } from './export-trajectories.ts';
import type { ExportFormat } from './formats.ts';

let world: TestWorld;
let folder: string;
beforeEach(async () => {
  world = await openTestWorld();
  folder = await mkdtemp(join(tmpdir(), 'espalier-snapshot-'));
});
afterEach(async () => {
  await world.close();
  await rm(folder, { recursive: true });
});

const jsonl: ExportFormat = { kind: 'jsonl', scope: 'trajectories' };

async function exported(name: string, db: Db = world.database.db, waitMs = 10_000) {
  const manifest = await exportTrajectories({
    db,
    blobs: new MemoryBlobs(),
    query: everyTrajectory,
    format: jsonl,
    out: join(folder, name),
    codeVersion: 'test',
    waitMs,
    existing: 'refuse',
    empty: 'allow',
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  const lines = (await readFile(join(folder, name), 'utf8')).trimEnd().split('\n');
  const events: Envelope[] = lines.slice(1, -1).map((line) => JSON.parse(line));
  const count = (type: Envelope['type']) => events.filter((event) => event.type === type).length;
  return { manifest, inFile: { trees: count('TreeOpened'), trajectories: count('RolloutFinished'), steps: count('StepTaken') } };
}

/** A run with one tree that is folded by all, and records that nobody has folded yet. */
async function begun() {
  const { db } = world.database;
  const builder = new EventBuilder('begun');
  const runId = builder.run();
  const tree = builder.tree(runId, 'a');
  builder.walk(tree, 0, 2, 1);
  const log = testLog();
  appendTo(log, builder.events);
  const folded = builder.events.length - 1; // the first one lies on another topic
  await projectSlice(db, log, 'runs', 0, 1, [journal, runs]);
  await projectSlice(db, log, 'trees', 0, folded, [journal, rewards, stepTree]);
  builder.walk(tree, 1, 2, 1);
  builder.walk(builder.tree(runId, 'b'), 0, 2, 1);
  appendTo(log, builder.events.slice(folded + 1));
  const rest = log.topics.get('trees')?.length ?? 0;
  const fold = (projections: Parameters<typeof projectSlice>[5]) => projectSlice(db, log, 'trees', folded, rest, projections);
  return { db, builder, fold };
}

/**
 * A database in which something happens right before each transaction: the moves of a projector between two looks of an export.
 */
function before(db: Db, happens: (() => Promise<unknown>)[]): Db {
  return new Proxy(db, {
    get(target, key) {
      if (key === 'transaction') return () => deferred(target, happens.shift());
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

function deferred(db: Db, happens: (() => Promise<unknown>) | undefined) {
  const chain = (build: (given: ReturnType<Db['transaction']>) => ReturnType<Db['transaction']>): unknown => ({
    setIsolationLevel: (level: 'repeatable read') => chain((given) => build(given).setIsolationLevel(level)),
    setAccessMode: (mode: 'read only') => chain((given) => build(given).setAccessMode(mode)),
    execute: async (use: Parameters<ReturnType<Db['transaction']>['execute']>[0]) => {
      await happens?.();
      return build(db.transaction()).execute(use);
    },
  });
  return chain((given) => given);
}

test('an export whose snapshot holds a newer selection than journal takes another, and writes what it counts', async () => {
  const { db, fold } = await begun();
  const racing = before(db, [() => fold([rewards, stepTree]), () => fold([journal])]);
  const { manifest, inFile } = await exported('raced', racing);
  expect(manifest.counts).toMatchObject({ trees: 2, trajectories: 3, steps: 6 });
  expect(inFile).toEqual({ trees: 2, trajectories: 3, steps: 6 });
});

test('an export whose snapshot holds a newer journal than selection takes another, and writes what it counts', async () => {
  const { db, fold } = await begun();
  const racing = before(db, [() => fold([journal]), () => fold([stepTree]), () => fold([rewards])]);
  const { manifest, inFile } = await exported('raced', racing);
  expect(manifest.counts).toMatchObject(inFile);
  expect(inFile.trajectories).toBe(3);
});

test('an export whose projections stay apart names those behind, and leaves no file', async () => {
  const { db, fold } = await begun();
  const racing = before(db, [() => fold([rewards, stepTree])]);
  await expect(exported('never', racing, 100)).rejects.toMatchObject({
    code: 'projections-behind',
    message: expect.stringMatching(/^journal did not reach the position of the other projections within 100 ms/),
  });
  expect(await readdir(folder)).toEqual([]);
});

test('an export that would write fewer trajectories than match is refused with both numbers, and leaves no file', async () => {
  const { db, fold } = await begun();
  await fold([journal, rewards, stepTree]);
  await db
    .deleteFrom('events')
    .where('type', '=', 'RolloutFinished')
    .where('position', '=', (select) => select.selectFrom('events').select((e) => e.fn.max('position').as('last')))
    .execute();
  await expect(exported('lacking')).rejects.toMatchObject({
    code: 'incomplete',
    message: expect.stringMatching(/^3 trajectories match, and the record yields 2 of them/),
  });
  expect(await readdir(folder)).toEqual([]);
});

test('every export during the fold of a growing log writes what it counts', async () => {
  const runner = await runProjections({ log: world.log, database: world.database, batchLimit: 40 });
  const builder = new EventBuilder('growing');
  const runId = builder.run();
  let growing = true;
  const writing = (async () => {
    let from = 0;
    for (let i = 0; i < 40; i++) {
      for (let k = 0; k < 3; k++) {
        const tree = builder.tree(runId, `task ${i} ${k}`);
        for (let ordinal = 0; ordinal < 4; ordinal++) builder.walk(tree, ordinal, 4, 1);
      }
      await world.append(builder.events.slice(from));
      from = builder.events.length;
    }
    growing = false;
  })();
  try {
    let exports = 0;
    for (; growing || exports < 3; exports++) {
      const { manifest, inFile } = await exported(`export ${exports}`);
      expect(inFile).toEqual({
        trees: manifest.counts.trees,
        trajectories: manifest.counts.trajectories,
        steps: manifest.counts.steps,
      });
      expect(new Set(Object.values(manifest.position).map((position) => /trees\S*/.exec(position)?.[0])).size).toBe(1);
    }
    await writing;
    await world.settled();
    expect((await exported('last')).inFile).toEqual({ trees: 120, trajectories: 480, steps: 1_920 });
  } finally {
    await writing;
    await runner.close();
  }
});
