import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { MemoryBlobs } from '../../../testing/memory-blobs.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { exportRows } from '../rows/export-rows.ts';
import { exportTrajectories } from './export-trajectories.ts';
import type { ExportFormat } from './formats.ts';

const database = useTestDatabase({ emptied: 'before-each' });
let folder: string;
let blobs: MemoryBlobs;
let recorded: ReturnType<typeof record>;
beforeEach(async () => {
  blobs = new MemoryBlobs();
  folder = await mkdtemp(join(tmpdir(), 'espalier-incomplete-'));
  recorded = record();
  await givenEvents(database.db, recorded.builder.events);
});
afterEach(() => rm(folder, { recursive: true }));

/** One tree of two walks, and the steps of the first. */
function record() {
  const builder = new EventBuilder('incomplete');
  const tree = builder.tree(builder.run(), 'a');
  const { rolloutId, steps } = builder.walk(tree, 0, 4, 1);
  builder.walk(tree, 1, 3, 0);
  return { builder, tree, rolloutId, steps };
}

const common = () => ({
  ...({
    db: database.db,
    blobs,
    query: everyTrajectory,
    out: join(folder, 'data'),
    existing: 'refuse',
    codeVersion: 'test',
  } as const),
  waitMs: 2_000,
  signal: new AbortController().signal,
  onProgress: () => undefined,
});
const FORMATS: readonly ExportFormat[] = [
  { kind: 'openai', weights: 'policy', metadata: 'include' },
  { kind: 'xtuner', weights: 'policy', metadata: 'include' },
  { kind: 'trl', weights: 'policy', metadata: 'include' },
  { kind: 'trl-grpo', metadata: 'include' },
  { kind: 'sharegpt', weights: 'policy' },
  { kind: 'parquet', weights: 'policy' },
  { kind: 'verl', layout: 'step' },
  { kind: 'jsonl', scope: 'trees' },
  { kind: 'jsonl', scope: 'trajectories' },
];
const ROWS = {
  format: { kind: 'xtuner', metadata: 'include', span: 'reply' },
  general: null,
  parameters: {
    ...({ data: 'good', state: 'verified', thresholds: { alpha: 0.5, beta: 0.2 } } as const),
    gates: { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null },
  },
} as const;
const KINDS = [
  ...FORMATS.map((format) => {
    const name = 'scope' in format ? `${format.kind} of ${format.scope}` : format.kind;
    return [name, () => exportTrajectories({ ...common(), format, empty: 'refuse' })] as const;
  }),
  ['training rows', () => exportRows({ ...common(), ...ROWS })] as const,
];
const lacks = (what: string) => ({
  code: 'incomplete',
  message: expect.stringMatching(
    new RegExp(`^the read models lack ${what}; compare the read models with the log .*, then export again`),
  ),
});

describe.each(KINDS)('an export as %s', (_, write) => {
  test('the export is refused with what the read models lack when a row in the middle of a path is gone, and leaves no file', async () => {
    await database.db
      .deleteFrom('steps')
      .where('stepId', '=', recorded.steps[1] ?? '')
      .execute();
    await expect(write()).rejects.toMatchObject(lacks(`1 parents of steps \\(the first: step ${recorded.steps[2]}\\)`));
    expect(await readdir(folder)).toEqual([]);
  });

  test('the export is refused when the leaf, the tree or the return of a finished rollout is gone, and leaves no file', async () => {
    const { db } = database;
    await db
      .deleteFrom('steps')
      .where('stepId', '=', recorded.steps[3] ?? '')
      .execute();
    const first = `\\(the first: rollout ${recorded.rolloutId}\\)`;
    await expect(write()).rejects.toMatchObject(lacks(`1 leaves of finished rollouts ${first}`));
    await db.deleteFrom('returns').where('rolloutId', '=', recorded.rolloutId).execute();
    await expect(write()).rejects.toMatchObject(lacks(`1 returns of finished rollouts ${first}`));
    await db.deleteFrom('trees').execute();
    await expect(write()).rejects.toMatchObject(lacks(`2 trees of finished rollouts .*, 1 returns of .*`));
    expect(await readdir(folder)).toEqual([]);
  });

  test('the export is refused when a rollout that has a return is gone, and leaves no file', async () => {
    await database.db.deleteFrom('rollouts').where('rolloutId', '=', recorded.rolloutId).execute();
    await expect(write()).rejects.toMatchObject(
      lacks(`1 finished rollouts of returns \\(the first: rollout ${recorded.rolloutId}\\)`),
    );
    expect(await readdir(folder)).toEqual([]);
  });
});

describe.each([
  ['trees', /^tree \S+ has 7 steps, and the events of the journal yield 0 of them; /],
  ['trajectories', /^2 trajectories match, and the record yields 0 of them; /],
] as const)('an export of the events of %s', (scope, message) => {
  const write = () => exportTrajectories({ ...common(), format: { kind: 'jsonl', scope }, empty: 'refuse' });

  test('the export is refused with both numbers when the journal lacks steps that the read model counts, and leaves no file', async () => {
    await database.db.deleteFrom('events').where('type', '=', 'StepTaken').execute();
    await expect(write()).rejects.toMatchObject({
      code: 'incomplete',
      message: expect.stringMatching(message),
    });
    expect(await readdir(folder)).toEqual([]);
  });
});

test('an export whose texts are not in the blob store is refused with their place, and leaves no file', async () => {
  const blob = 'a'.repeat(64);
  await database.pool.query(
    `update steps set observation = '', blobs = jsonb_build_object('observation',
       jsonb_build_object('blob', $1::text, 'size', 70000, 'mediaType', 'text/plain')) where step_id = $2`,
    [blob, recorded.steps[1]],
  );
  for (const [name, write] of KINDS.filter(([kind]) => !kind.startsWith('jsonl'))) {
    await expect([name, await write().catch((error) => error)]).toEqual([
      name,
      expect.objectContaining({ code: 'blob', message: expect.stringContaining(blob) }),
    ]);
  }
  expect(await readdir(folder)).toEqual([]);
});
