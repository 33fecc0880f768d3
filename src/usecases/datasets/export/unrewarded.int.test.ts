import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readTrajectories, TRAJECTORY_ORDERINGS } from '../../../projections/rewards/read-trajectories.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { MemoryBlobs } from '../../../testing/memory-blobs.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { type ExportOptions, exportTrajectories } from './export-trajectories.ts';

const database = useTestDatabase({ emptied: 'before-each' });
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-unrewarded-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function exported(format: ExportOptions['format'], change: Partial<ExportOptions> = {}) {
  const out = join(folder, 'data.jsonl');
  const options = {
    out,
    query: everyTrajectory,
    existing: 'replace',
    empty: 'refuse',
    codeVersion: 'test',
    waitMs: 2_000,
  } as const;
  const { signal } = new AbortController();
  const given = { db: database.db, blobs: new MemoryBlobs(), onProgress: () => undefined, signal, format, ...options, ...change };
  const { counts } = await exportTrajectories(given);
  const lines = (await readFile(out, 'utf8')).split('\n').filter((line) => line !== '');
  return { counts, lines: lines.map((line) => JSON.parse(line) as { reward?: number; trajectory?: string; extra?: object }) };
}

/** A rollout of one step in its tree, with the rewards that are given. */
function rollout(builder: EventBuilder, tree: Parameters<EventBuilder['walk']>[0], ordinal: number, rewards: readonly number[]) {
  const id = builder.rollout(tree, ordinal);
  const leaf = builder.step(tree, id, tree.rootStepId, 1);
  for (const value of rewards) builder.reward(tree, leaf, value, { rolloutId: id });
  return { id, leaf };
}

function record(): EventBuilder {
  const builder = new EventBuilder('unrewarded');
  const run = builder.run();
  const [mixed, silent] = [builder.tree(run, 'mixed'), builder.tree(run, 'silent')];
  const zero = rollout(builder, mixed, 0, [0]);
  const unknown = rollout(builder, mixed, 1, []);
  const other = rollout(builder, silent, 0, []);
  const failed = rollout(builder, mixed, 2, [1]);
  builder.finishRollout(mixed, zero.id, zero.leaf, { steps: 1 });
  builder.finishRollout(mixed, unknown.id, unknown.leaf, { steps: 1 });
  builder.finishRollout(silent, other.id, other.leaf, { steps: 1 });
  builder.finishRollout(mixed, failed.id, failed.leaf, { steps: 1, outcome: 'failed', success: null });
  return builder;
}

const GRPO = { kind: 'trl-grpo', metadata: 'omit' } as const;

test('failed rollouts are rows where a filter asks for them', async () => {
  await givenEvents(database.db, record().events);
  const all = { ...everyTrajectory, outcomes: ['terminated', 'failed'] as const };
  const { lines, counts } = await exported(GRPO, { query: all });
  expect(lines.map(({ reward }) => reward)).toEqual([0, 1]);
  expect(counts.unfinished).toBeUndefined();
});

test('a rollout without a reward has no return: no bound of returns takes it, and readers show none', async () => {
  await givenEvents(database.db, record().events);
  const format = { kind: 'openai', weights: 'own', metadata: 'include' } as const;
  expect((await exported(format)).counts).toMatchObject({ trajectories: 3 });
  for (const bound of [{ returnMax: 0.5 }, { returnMin: 0 }]) {
    const { counts } = await exported(format, { query: { ...everyTrajectory, ...bound } });
    expect(counts).toMatchObject({ trajectories: 1 });
  }
  const [page] = await readTrajectories(database.db, [{}], TRAJECTORY_ORDERINGS.FINISHED_ASC, {
    limit: 10,
    towards: 'forwards',
    after: null,
    before: null,
  });
  expect(page?.rows.map(({ row }) => row.return).sort()).toEqual([0, 1, null, null]);
});

test('an export for training on rewards of which there are none is refused', async () => {
  const builder = new EventBuilder('silent');
  const tree = builder.tree(builder.run());
  const { id, leaf } = rollout(builder, tree, 0, []);
  builder.finishRollout(tree, id, leaf, { steps: 1 });
  await givenEvents(database.db, builder.events);
  await expect(exported(GRPO)).rejects.toThrow('none of the 1 trajectories that match has a reward on record');
});

test('a reward that is infinite in float32 is refused by its trajectory', async () => {
  const builder = new EventBuilder('large');
  const tree = builder.tree(builder.run());
  const { id, leaf } = rollout(builder, tree, 0, [1e39]);
  builder.finishRollout(tree, id, leaf, { steps: 1 });
  await givenEvents(database.db, builder.events);
  await expect(exported(GRPO)).rejects.toThrow(`trajectory ${id} of run ${tree.runId} has the reward 1e+39`);
  await expect(exported({ kind: 'verl', layout: 'step' })).rejects.toThrow('infinite in the float32 of trainers');
});

test.each([
  { unclearCalls: 2, lostParts: 0 },
  { unclearCalls: 0, lostParts: 1 },
])('a captured rollout with %j is refused with the remedy, left out by drop, and counted by keep', async (captured) => {
  const builder = new EventBuilder('unclear');
  const tree = builder.tree(builder.run(), 'task');
  const clear = rollout(builder, tree, 0, [1]);
  const unclear = rollout(builder, tree, 1, [1]);
  builder.finishRollout(tree, clear.id, clear.leaf, { steps: 1, unclearCalls: 0, lostParts: 0 });
  builder.finishRollout(tree, unclear.id, unclear.leaf, { steps: 1, ...captured });
  await givenEvents(database.db, builder.events);
  const format = { kind: 'trl-grpo', metadata: 'omit' } as const;
  await expect(exported(format)).rejects.toThrow(
    `that may belong to it, or of which parts could not be read (the first: rollout ${unclear.id})`,
  );
  const dropped = await exported(format, { query: { ...everyTrajectory, unclear: 'drop' } });
  expect(dropped.counts).toMatchObject({ trajectories: 1, lines: 1 });
  const kept = await exported(format, { query: { ...everyTrajectory, unclear: 'keep' } });
  expect(kept.counts).toMatchObject({ trajectories: 2, lines: 2, unclear: 1 });
});
