import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import type { PolicyMessage } from '../../../domain/prompts/policy-prompt.ts';
import { encodePng } from '../../../images/png.ts';
import { readHistoryImages } from '../../../projections/images/read-history-images.ts';
import { rebuildImage } from '../../../projections/images/rebuild-image.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { recordDrawnHistories } from '../../../testing/record-drawn-histories.ts';
import { recordMessages } from '../../../testing/record-messages.ts';
import { exportRows, type RowExportOptions } from './export-rows.ts';
import type { RowFormat } from './row-options.ts';

const shop = datasetWorkshop();
const format = (kind: RowFormat['kind'], change: Partial<RowFormat> = {}): RowFormat => ({
  kind,
  metadata: 'include',
  span: 'reply',
  ...change,
});

interface Given {
  readonly drawn: boolean;
  readonly config?: object;
  /** What the worse reply was asked with, where that is another prompt than the best one's. */
  readonly worseAsked?: string;
}

/** A tree that parts behind its first step: a way that earns 1, and one that earns nothing. Every prompt has its own words. */
async function given({ drawn, config = {}, worseAsked }: Given) {
  const builder = new EventBuilder('shown rows');
  const tree = builder.tree(builder.run('run', { config }), 'a');
  const good = builder.rollout(tree, 0);
  const bad = builder.rollout(tree, 1);
  const first = builder.step(tree, good, tree.rootStepId, 1, { response: 'first' });
  const best = builder.step(tree, good, first, 2, { response: 'best', termination: 'terminated' });
  const worse = builder.step(tree, bad, first, 2, { response: 'worse', termination: 'terminated' });
  builder.reward(tree, best, 1, { rolloutId: good });
  builder.reward(tree, worse, 0, { rolloutId: bad });
  builder.finishRollout(tree, good, best, { steps: 2 });
  builder.finishRollout(tree, bad, worse, { success: false });
  const { imageIds } = drawn
    ? recordDrawnHistories(builder, tree, [first, best], { records: ['a hall'], factors: [1, 2] })
    : { imageIds: [] };
  const imageId = imageIds[1];
  const ask = (words: string): PolicyMessage[] => [{ role: 'user', parts: [{ kind: 'text', text: words }] }];
  const second: PolicyMessage[] = imageId
    ? [{ role: 'user', parts: [{ kind: 'image', imageId }, ...(ask('And now?')[0]?.parts ?? [])] }]
    : ask('And now?');
  recordMessages(builder, tree, first, ask('What first?'));
  recordMessages(builder, tree, best, second);
  recordMessages(builder, tree, worse, worseAsked ? ask(worseAsked) : second);
  await givenEvents(shop.db, builder.events);
  const [record] = await readHistoryImages(shop.db, [{ treeId: tree.treeId, id: best }]);
  const rebuilt = record && (await rebuildImage({ db: shop.db, blobs: shop.blobs }, record));
  const png = rebuilt?.kind === 'image' ? Buffer.from(await encodePng(rebuilt.image)).toString('base64') : null;
  return { imageId, png, best, worse };
}

// biome-ignore lint/suspicious/noExplicitAny: rows of files, read field by field
async function exported(change: Partial<RowExportOptions>): Promise<readonly any[]> {
  await exportRows({
    db: shop.db,
    blobs: shop.blobs,
    query: everyTrajectory,
    format: format('openai'),
    general: null,
    parameters: {
      data: 'good',
      thresholds: { alpha: 0.5, beta: 0.2 },
      state: 'verified',
      gates: { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null },
    },
    out: shop.path('rows'),
    existing: 'replace',
    codeVersion: 'test',
    waitMs: 2_000,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...change,
  });
  return (await readFile(shop.path('rows'), 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const pairs = { data: 'pairs', thresholds: { alpha: 0.5, beta: 0.2 }, state: 'verified' } as const;
const gates = { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null } as const;

test('good trajectories follow the prompts that were shown, the picture inside and its factor in the metadata', async () => {
  const { imageId, png } = await given({ drawn: true });
  const rows = await exported({});
  expect(rows.map(({ messages }) => messages)).toEqual([
    [
      { role: 'user', content: [{ type: 'text', text: 'What first?' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'first' }], weight: 1 },
    ],
    [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
          { type: 'text', text: 'And now?' },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'best' }], weight: 1 },
    ],
  ]);
  expect(rows.map(({ metadata: { prompt, part } }) => ({ prompt, part }))).toEqual([
    { prompt: 'recorded', part: { index: 0, of: 2, from: 0, to: 1 } },
    { prompt: 'recorded', part: { index: 1, of: 2, from: 1, to: 2 } },
  ]);
  expect(rows[1].metadata.images).toMatchObject([{ id: imageId, factor: 2 }]);
});

test('a pair follows the prompt at which the two part, its picture in a file next to the rows', async () => {
  const { imageId, png } = await given({ drawn: true });
  const rows = await exported({ format: format('dpo'), parameters: { ...pairs, gates } });
  expect(rows).toMatchObject([
    {
      prompt: [{ role: 'user', content: [{ type: 'image' }, { type: 'text', text: 'And now?' }] }],
      chosen: [{ role: 'assistant', content: [{ type: 'text', text: 'best' }] }],
      rejected: [{ role: 'assistant', content: [{ type: 'text', text: 'worse' }] }],
      images: [`__images__/rows/${imageId}.png`],
      metadata: { prompt: 'recorded', images: [{ id: imageId, factor: 2 }] },
    },
  ]);
  expect((await readFile(shop.path(rows[0].images[0]))).toString('base64')).toBe(png);
});

test('a pair of replies to two prompts is refused with both steps named', async () => {
  const { best, worse } = await given({ drawn: false, worseAsked: 'What else?' });
  const refused = exported({ format: format('dpo'), parameters: { ...pairs, gates } });
  await expect(refused).rejects.toThrow(`steps ${best} and ${worse} follow the same step`);
});

test('trajectories in a form of their own say that they are composed, and are refused where they cannot say it', async () => {
  await given({ drawn: false, config: { prompt: { mode: 'text' } } });
  const [row] = await exported({ format: format('agent-r') });
  expect(row.metadata.prompt).toBe('composed');
  await expect(exported({ format: format('agent-r', { metadata: 'omit' }) })).rejects.toThrow('export it with its metadata');
});
