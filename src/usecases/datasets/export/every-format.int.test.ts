import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { pack } from '../../../events/packed.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { readParquet } from '../prepare/read-source.ts';
import { exportRows } from '../rows/export-rows.ts';
import { exportRowsFolder } from '../rows/export-rows-folder.ts';
import { ROW_FORMATS, type RowFormatKind } from '../rows/row-options.ts';
import { exportTrajectories } from './export-trajectories.ts';
import type { ExportFormat } from './formats.ts';
import { formatEntry, isParquet } from './formats.ts';

const shop = datasetWorkshop();

/** One task with a rollout of each fate: its outcome and its reward; null: nobody rewarded it. */
const FATES = {
  terminated: ['terminated', 1],
  truncated: ['truncated', 0.25],
  unrewarded: ['terminated', null],
  failed: ['failed', 1],
  cancelled: ['cancelled', 1],
} as const;
type Fate = keyof typeof FATES;

async function given(): Promise<ReadonlyMap<string, Fate>> {
  const builder = new EventBuilder('fates');
  const tree = builder.tree(builder.run(), 'a');
  const fates = new Map<string, Fate>();
  for (const [ordinal, fate] of (Object.keys(FATES) as Fate[]).entries()) {
    const [outcome, reward] = FATES[fate];
    const rolloutId = builder.rollout(tree, ordinal);
    const tokens = { ids: pack('int32', [ordinal]), logProbs: pack('float32', [-1]), mask: null };
    const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: fate, action: fate, tokens });
    if (reward !== null) builder.reward(tree, leaf, reward, { rolloutId });
    builder.finishRollout(tree, rolloutId, leaf, { outcome, success: null });
    fates.set(rolloutId, fate);
  }
  await givenEvents(shop.db, builder.events);
  return fates;
}

type Row = Readonly<Record<string, unknown>>;
interface OurMetadata {
  readonly trajectory: string;
  readonly scores: readonly { readonly name: string; readonly value: number }[];
}

/** Which rollout a row is of, and its reward in the terms of the format; undefined: the row has none. */
type Said = readonly [rolloutId: unknown, reward: unknown];
const metadataOf = (row: Row) => row.metadata as OurMetadata;
const byMetadata = (row: Row): Said => [
  metadataOf(row).trajectory,
  metadataOf(row).scores.find(({ name }) => name === 'return')?.value,
];

/** The formats of rollouts. What is not a row for each: the events, and the tasks to sample from. */
const SAYS: { readonly [Kind in Exclude<ExportFormat['kind'], 'jsonl' | 'verl-prompts'>]: (row: Row) => Said } = {
  openai: byMetadata,
  xtuner: byMetadata,
  trl: byMetadata,
  'trl-grpo': ({ trajectory, reward }) => [trajectory, reward],
  sharegpt: (row) => [metadataOf(row).trajectory, row.reward],
  atif: ({ trajectory_id: id, extra }) => [id, (extra as { readonly reward?: number }).reward],
  parquet: ({ trajectory_id: id, return: value, steps }) => {
    expect((steps as readonly { readonly reward: number }[]).map(({ reward }) => reward)).toEqual([value]);
    return [id, Number.isNaN(value) ? undefined : value]; // a missing number, as pandas has it
  },
  verl: ({ traj_uid: id, episode_rewards: value }) => [id, value],
};
/** They are for training on rewards: what has none is no row. */
const OF_REWARDS: readonly string[] = ['trl-grpo', 'verl'];

const formatOf = (kind: ExportFormat['kind'], layout: 'trajectory' | 'step' = 'trajectory') =>
  ({
    kind,
    ...formatEntry({ kind }).options({
      weights: 'own',
      metadata: 'include',
      context: 'keep',
      scope: 'trajectories',
      layout,
    }),
  }) as ExportFormat; // the registry is typed by kind

const common = (out: string) => ({
  db: shop.db,
  blobs: shop.blobs,
  query: everyTrajectory,
  out,
  existing: 'replace' as const,
  codeVersion: 'test',
  waitMs: 2_000,
  signal: new AbortController().signal,
  onProgress: () => undefined,
});

async function exported(format: ExportFormat) {
  const out = shop.path('data');
  const { counts } = await exportTrajectories({ ...common(out), format, empty: 'refuse' });
  return { counts, rows: isParquet(format) ? await parquetRows(out) : await lines(out) };
}

async function lines(out: string): Promise<readonly Row[]> {
  const text = await readFile(out, 'utf8');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Row]));
}

async function parquetRows(out: string): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for await (const row of readParquet(out, ['trajectory_id', 'return', 'steps', 'traj_uid', 'episode_rewards'])) rows.push(row);
  return rows;
}

test.each([
  ...(Object.keys(SAYS) as (keyof typeof SAYS)[]).map((kind) => [kind, formatOf(kind)] as const),
  ['verl', formatOf('verl', 'step')] as const,
])(
  'a file of %s has no reward of 0 where nobody rewarded, and counts the rollouts that failed or were cancelled',
  async (kind, format) => {
    const fates = await given();
    const { rows, counts } = await exported(format);
    const rewards = Object.fromEntries(
      rows.map(SAYS[kind]).map(([id, reward]) => [fates.get(String(id)) ?? id, reward] as const),
    );
    const known = { terminated: 1, truncated: 0.25 };
    const ofRewards = OF_REWARDS.includes(kind);
    expect(rewards).toEqual(ofRewards ? known : { ...known, unrewarded: undefined });
    expect(Object.keys(rewards)).toHaveLength(ofRewards ? 2 : 3);
    expect(counts).toMatchObject({ trajectories: ofRewards ? 2 : 3, unfinished: 2 });
    expect(counts.unrewarded).toEqual(ofRewards ? { trajectories: 1, trees: 0, steps: 1 } : undefined);
  },
);

test('files of events and of tasks hold every rollout, and no reward where there is none', async () => {
  const fates = await given();
  const events = await exported(formatOf('jsonl'));
  const ofType = (type: string) =>
    events.rows.flatMap((row) => {
      const { type: its, data } = (row.event ?? row) as { readonly type?: string; readonly data?: Row };
      return its === type ? [fates.get(String(data?.rolloutId))] : [];
    });
  expect(ofType('RolloutFinished')).toEqual(Object.keys(FATES));
  expect(ofType('RewardAssigned')).toEqual(Object.keys(FATES).filter((fate) => fate !== 'unrewarded'));
  expect(events.counts).toMatchObject({ trajectories: 5 });
  const truths = { kind: 'file', type: 'text', of: () => 'truth' } as unknown as NonNullable<
    Parameters<typeof exportTrajectories>[0]['truths']
  >;
  const out = shop.path('prompts');
  const format = { kind: 'verl-prompts', truths: 'a'.repeat(64) } as const;
  const { counts } = await exportTrajectories({ ...common(out), format, truths, empty: 'refuse' });
  expect([counts.trajectories, counts.lines, counts.unfinished, counts.unrewarded]).toEqual([5, 1, undefined, undefined]);
});

test.each(ROW_FORMATS)(
  'mined examples as %s take nothing that failed, was cancelled or was not rewarded, and count it',
  async (kind: RowFormatKind) => {
    const fates = await given();
    const out = shop.path('rows');
    const parameters = {
      data: kind === 'dpo' ? 'pairs' : 'good',
      thresholds: { alpha: 0.2, beta: 0.2 },
      state: 'verified',
      gates: { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null },
    } as const;
    const format = { kind, metadata: 'include', span: 'reply' } as const;
    const { counts } = await exportRows({ ...common(out), format, parameters, general: null });
    const rows = (await lines(out)).map((row) => row.metadata as { readonly trajectory: string; readonly rejected: string });
    expect(rows.map(({ trajectory, rejected }) => [fates.get(trajectory), fates.get(rejected)])).toEqual(
      kind === 'dpo'
        ? [['terminated', 'truncated']]
        : [
            ['terminated', undefined],
            ['truncated', undefined],
          ],
    );
    expect(counts).toMatchObject({ unfinished: 2, unrewarded: 1 });
  },
);

test('a folder of mined examples counts what it takes none of, over its splits', async () => {
  await given();
  const parameters = {
    data: 'good',
    thresholds: { alpha: 0.2, beta: 0.2 },
    state: 'verified',
    gates: { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null },
  } as const;
  const format = { kind: 'openai', metadata: 'include', span: 'reply' } as const;
  const made = await exportRowsFolder({ ...common(shop.path('folder')), format, parameters, general: null });
  expect(made).toMatchObject({ unfinished: 2, unrewarded: 1 });
});
