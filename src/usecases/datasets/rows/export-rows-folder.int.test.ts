import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { recordRevision } from '../../../testing/record-revision.ts';
import { exportRowsFolder } from './export-rows-folder.ts';
import type { RowFormat } from './row-options.ts';

const shop = datasetWorkshop();
const FORMAT: RowFormat = { kind: 'trl', metadata: 'include', span: 'reply' };
const gates = { duplicates: 'remove', testTasks: 'keep', evaluations: 'keep', maxPerTask: null } as const;

/** A searched tree, and good trajectories of one step: two of the test split, of which one has an equal without a split. */
async function given(): Promise<void> {
  const { builder } = recordRevision();
  await givenEvents(shop.db, builder.events);
  const tested = new EventBuilder('tested');
  const runId = tested.run('tested');
  const kept = { environment: 'textcraft', serverFingerprint: 'world-1', observationHash: 'b'.repeat(64), goal: '', depth: 1 };
  for (const [alias, split, observation] of [
    ['b', 'test', 'a plank'],
    ['c', null, 'a plank'],
    ['d', 'test', 'a stick'],
  ] as const) {
    const tree = tested.tree(runId, alias, { task: { ...kept, taskId: tested.id('task', alias), alias, split }, observation });
    const rolloutId = tested.rollout(tree);
    const leaf = tested.step(tree, rolloutId, tree.rootStepId, 1, { response: 'make', termination: 'terminated' });
    tested.reward(tree, leaf, 1, { rolloutId });
    tested.finishRollout(tree, rolloutId, leaf, { success: true, steps: 1 });
  }
  await givenEvents(shop.db, tested.events);
}

function exporting(change: Partial<Parameters<typeof exportRowsFolder>[0]> = {}) {
  return exportRowsFolder({
    db: shop.db,
    blobs: shop.blobs,
    query: everyTrajectory,
    format: FORMAT,
    general: null,
    out: shop.path('folder'),
    parameters: { data: 'both', thresholds: { alpha: 0.5, beta: 0.25 }, state: 'verified', gates },
    existing: 'refuse',
    codeVersion: 'test',
    waitMs: 2_000,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...change,
  });
}

async function rowsOf(split: string): Promise<readonly { readonly metadata: { readonly kind: string } }[]> {
  const text = await readFile(join(shop.path('folder'), `data/${split}-00000-of-00001.jsonl`), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

test('mined examples lie in the split of their task, none twice, general ones in train, with a card that names the files', async () => {
  await given();
  const chat = {
    messages: [
      { role: 'user', content: 'how?' },
      { role: 'assistant', content: 'well' },
    ],
  };
  await writeFile(shop.path('general.json'), JSON.stringify([chat]));
  const manifest = await exporting({ general: { path: shop.path('general.json'), eta: 0.5, seed: 0 } });
  expect(Object.keys(manifest.splits)).toEqual(['train', 'test']);
  expect(manifest.splits.train).toMatchObject({ good: 2, revisions: 1, general: 3 });
  expect(manifest.splits.test).toMatchObject({ good: 1, general: 0, lines: 1, dropped: { duplicate: 1 } });
  expect(new Set((await rowsOf('train')).map(({ metadata }) => metadata.kind))).toEqual(new Set(['good', 'revision', 'general']));
  expect((await rowsOf('test')).map(({ metadata }) => metadata.kind)).toEqual(['good']);
  expect(manifest.files.map(({ path }) => path)).toEqual(['data/train-00000-of-00001.jsonl', 'data/test-00000-of-00001.jsonl']);
  const card = await readFile(join(shop.path('folder'), 'README.md'), 'utf8');
  expect(card).toContain('  - split: test\n    path: data/test-*');
  expect(card).toContain('`espalier export --format trl --data both --layout hf`');
  expect(JSON.parse(await readFile(join(shop.path('folder'), '_manifests/dataset.manifest'), 'utf8'))).toEqual(
    JSON.parse(JSON.stringify(manifest)),
  );
});

test('a folder that is there is refused, or replaced where it is one of these, and without an example there is none', async () => {
  await given();
  await exporting();
  await expect(exporting()).rejects.toMatchObject({ code: 'file-exists' });
  await exporting({ existing: 'replace' });
  const none = { data: 'good', thresholds: { alpha: 1, beta: 0.25 }, state: 'verified', gates: { ...gates } } as const;
  const query = { ...everyTrajectory, splits: ['validation'] };
  await expect(exporting({ out: shop.path('none'), parameters: none, query })).rejects.toMatchObject({ code: 'nothing-matches' });
  expect(await readdir(shop.path('.'))).toEqual(['folder']); // nothing half done next to it
});
