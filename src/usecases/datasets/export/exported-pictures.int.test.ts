import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { openPicture, readPicturesOfSteps } from '../../../projections/pictures/read-pictures.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { testPictures } from '../../../testing/painted-world.ts';
import { givenPrepared } from '../../../testing/projecting-log.ts';
import { recordTwinImages, recordTwinSteps } from '../../../testing/record-twin-images.ts';
import type { ExportFormat } from './formats.ts';
import { type Manifest, manifestPath } from './manifest.ts';
import { PictureFolder, picturesPath } from './pictures.ts';

const shop = datasetWorkshop();
const { dot, noise, red } = await testPictures();

/** One rollout of one step, which shows pictures before and behind it, and whose prompt is not recorded. */
async function given(): Promise<{ readonly treeId: string; readonly root: string; readonly step: string }> {
  const builder = new EventBuilder('painted');
  const tree = builder.tree(builder.run(), 'a', { instruction: '', observation: 'a dot', pictures: [dot.data] });
  const rolloutId = builder.rollout(tree);
  const first = builder.step(tree, rolloutId, tree.rootStepId, 1, {
    response: 'look',
    observation: '',
    pictures: [noise.data, red.data],
  });
  const last = builder.step(tree, rolloutId, first, 2, { response: 'done', observation: 'over', termination: 'terminated' });
  builder.reward(tree, last, 1, { rolloutId });
  builder.finishRollout(tree, rolloutId, last, { steps: 2 });
  await givenPrepared(shop.db, builder.events, shop.blobs);
  return { treeId: tree.treeId, root: tree.rootStepId, step: first };
}

test('a file of events carries pictures, those in the blob store too, into an empty installation', async () => {
  const { treeId, root, step } = await given();
  const file = await shop.exportTo('events', { kind: 'jsonl', scope: 'trees' });
  await shop.startAgain();
  await shop.importing({ source: file });
  const records = await readPicturesOfSteps(
    shop.db,
    [root, step].map((id) => ({ treeId, id })),
  );
  expect(records.map(({ stepId, imageId }) => [stepId, imageId])).toEqual(
    [[root, dot.id] as const, [step, noise.id] as const, [step, red.id] as const].sort(([a], [b]) =>
      a < b ? -1 : a > b ? 1 : 0,
    ),
  );
  for (const record of records) {
    const picture = await openPicture(record, (sha256) => shop.blobs.get(sha256));
    expect([record.imageId, picture.kind]).toEqual([record.imageId, 'picture']);
  }
});

test('a chat without recorded prompts is composed with the pictures behind their texts, in the place of empty ones', async () => {
  await given();
  const file = await shop.exportTo('chat', { kind: 'openai', weights: 'own', metadata: 'omit' });
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'a dot' }, dot.part] },
      { role: 'assistant', content: [{ type: 'text', text: 'look' }], weight: 1 },
      { role: 'user', content: [noise.part, red.part] },
      { role: 'assistant', content: [{ type: 'text', text: 'done' }], weight: 1 },
    ],
  });
});

test('the column images of trl and sharegpt has the files of the pictures in the order of their places', async () => {
  await given();
  const rowsOf = async (path: string) =>
    (await readFile(path, 'utf8'))
      .trimEnd()
      .split('\n')
      // biome-ignore lint/suspicious/noExplicitAny: rows of files, read field by field
      .map((line): any => JSON.parse(line));
  const images = (name: string) => [dot, noise, red].map(({ id }) => `__images__/${name}/${id}.png`);
  const trl = await rowsOf(await shop.exportTo('trl', { kind: 'trl', weights: 'own', metadata: 'omit' }));
  expect(trl[1]).toMatchObject({
    prompt: [
      { role: 'user', content: [{ type: 'text', text: 'a dot' }, { type: 'image' }] },
      { role: 'assistant' },
      { role: 'user', content: [{ type: 'image' }, { type: 'image' }] },
    ],
    images: images('trl'),
  });
  const [sharegpt] = await rowsOf(await shop.exportTo('sharegpt', { kind: 'sharegpt', weights: 'own' }));
  expect(sharegpt.conversations.map(({ value }: { value: string }) => value)).toEqual([
    'a dot<image>',
    'look',
    '<image><image>',
    'done',
  ]);
  expect(sharegpt.images).toEqual(images('sharegpt'));
  for (const { id, base64 } of [dot, noise, red])
    expect((await readFile(join(picturesPath(shop.path('trl')), `${id}.png`))).toString('base64')).toBe(base64);
});

test('xtuner, which has no place for a picture, is refused by name', async () => {
  await given();
  await expect(shop.exportTo('xtuner', { kind: 'xtuner', weights: 'own', metadata: 'omit' })).rejects.toMatchObject({
    code: 'picture',
  });
});

test('the pictures of a file are refused where another has its folder, and replaced with it', async () => {
  await given();
  const pictures = picturesPath(shop.path('again'));
  await mkdir(pictures, { recursive: true });
  await writeFile(join(pictures, 'old.png'), 'old');
  await expect(PictureFolder.open(shop.path('again'), 'refuse')).rejects.toMatchObject({ code: 'file-exists' });
  await shop.exportTo('again', { kind: 'trl', weights: 'own', metadata: 'omit' });
  expect(await readdir(pictures)).not.toContain('old.png');
});

test('every row has the factor of its own step where two factors give equal pixels', async () => {
  const builder = new EventBuilder('twins');
  const { steps } = recordTwinImages(builder);
  await givenPrepared(shop.db, builder.events, shop.blobs);
  const expected = Object.fromEntries(steps.map(({ stepId, factor }) => [stepId, [factor]]));

  const ofSteps = await parquetRows(await shop.exportTo('steps', { kind: 'verl', layout: 'step' }));
  const shown = ofSteps.filter(({ image_ids }) => image_ids.length > 0);
  expect(Object.fromEntries(shown.map(({ step_id, image_factors }) => [step_id, image_factors]))).toEqual(expected);

  const trajectories = await parquetRows(await shop.exportTo('parquet', { kind: 'parquet', weights: 'own' }));
  const last = trajectories.map(({ images, steps: [, step] }) => [
    step.step_id,
    [...images.map(({ factor }: { factor: number }) => factor), step.prompt.messages[0].parts[0].image_factor],
  ]);
  expect(Object.fromEntries(last)).toEqual(Object.fromEntries(steps.map(({ stepId, factor }) => [stepId, [factor, factor]])));

  const lines = (await readFile(await shop.exportTo('chat', { kind: 'openai', weights: 'own', metadata: 'include' }), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).metadata);
  const factors = lines.filter(({ images }) => images.length > 0).map(({ images }) => images[0].factor);
  expect(factors.sort()).toEqual([4.999, 5]);
});

test('each occurrence of equal pixels in one conversation has the factor of the step that was shown it', async () => {
  const builder = new EventBuilder('twin steps');
  const { steps } = recordTwinSteps(builder);
  await givenPrepared(shop.db, builder.events, shop.blobs);
  const factors = steps.map(({ factor }) => factor);
  const metadataOf = async (name: string, format: ExportFormat) =>
    (await readFile(await shop.exportTo(name, format), 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).metadata.images.map(({ factor }: { factor: number }) => factor));

  const own = { weights: 'own', metadata: 'include' } as const;
  expect((await metadataOf('chat', { kind: 'openai', ...own })).at(-1)).toEqual(factors);
  expect((await metadataOf('sharegpt', { kind: 'sharegpt', weights: 'own' })).at(-1)).toEqual(factors);
  expect((await metadataOf('grpo', { kind: 'trl-grpo', metadata: 'include' })).at(-1)).toEqual(factors);
  expect((await metadataOf('trl', { kind: 'trl', ...own })).slice(-2)).toEqual([factors.slice(0, 1), factors]);

  const ofSteps = await parquetRows(await shop.exportTo('steps', { kind: 'verl', layout: 'step' }));
  expect(ofSteps.map(({ image_factors }) => image_factors).slice(-2)).toEqual([factors.slice(0, 1), factors]);
  const [trajectory] = await parquetRows(await shop.exportTo('parquet', { kind: 'parquet', weights: 'own' }));
  expect(trajectory.images.map(({ factor }: { factor: number }) => factor)).toEqual(factors);
  expect(trajectory.steps.at(-1).prompt.messages.at(-1).parts[0].image_factor).toBe(factors[1]);
});

test('the manifest counts the pictures with characters that the published renderer may draw otherwise', async () => {
  const builder = new EventBuilder('shaped');
  recordTwinImages(builder, 'مرحبا');
  await givenPrepared(shop.db, builder.events, shop.blobs);
  const file = await shop.exportTo('chat', { kind: 'openai', weights: 'own', metadata: 'omit' });
  const { counts } = JSON.parse(await readFile(manifestPath(file), 'utf8')) as Manifest; // as the export wrote it
  expect(counts.unshapedPictures).toBe(1);
});

// biome-ignore lint/suspicious/noExplicitAny: rows of files, read field by field
async function parquetRows(path: string): Promise<readonly any[]> {
  return parquetReadObjects({ file: await asyncBufferFromFile(path) });
}
