import { readFile } from 'node:fs/promises';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { EXAMPLE_ORDERING, readExamplePages } from '../../../projections/dataset-sources/read-examples.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { visibleTo } from '../../../projections/visible-to.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { projectingAppender } from '../../../testing/projecting-log.ts';
import { recordRevision } from '../../../testing/record-revision.ts';
import type { RowFormat, RowParameters } from '../rows/row-options.ts';
import { releaseDataset, releasedText } from './release-dataset.ts';

const shop = datasetWorkshop();
const FORMATS: readonly (readonly [RowFormat['kind'], RowParameters['data'], RowFormat['metadata']])[] = [
  ['agent-r', 'both', 'include'],
  ['xtuner', 'both', 'omit'],
  ['sharegpt', 'both', 'include'],
  ['openai', 'both', 'include'],
  ['trl', 'both', 'include'],
  ['dpo', 'pairs', 'include'],
];

describe('the text of a released example', () => {
  let recorded: ReturnType<typeof recordRevision>;
  beforeEach(async () => {
    recorded = recordRevision();
    await givenEvents(shop.db, recorded.builder.events);
  });

  test.each(FORMATS)(
    'lines of %s with the data %s come out byte for byte as the file holds them, metadata: %s',
    async (...of) => {
      const { dataset, examples, file } = await released(...of);
      expect(examples.length).toBeGreaterThan(0);
      for (const db of [shop.db, visibleTo(shop.db, { projects: ['default'] })]) {
        const texts = [];
        for (const example of examples) texts.push(await releasedText(db, shop.blobs, dataset, example));
        expect(texts.join('')).toBe(file);
        expect(texts.map((text) => text.trimEnd().split('\n').length)).toEqual(examples.map(({ lines }) => lines));
      }
    },
  );

  test('somebody who does not see the project of the tree gets nothing of it', async () => {
    const { dataset, examples } = await released('xtuner', 'both', 'include');
    const db = visibleTo(shop.db, { projects: ['other'] });
    await expect(releasedText(db, shop.blobs, dataset, examples[0]!)).rejects.toThrow(
      'is chosen by the filter of the release any more',
    );
  });

  test('an example that the tree does not yield any more is refused, and so is a format of another version', async () => {
    const { dataset, examples } = await released('xtuner', 'both', 'include');
    const [good] = examples;
    const other = { ...good!, goodRolloutId: new EventBuilder('other').id('rollout') };
    await expect(releasedText(shop.db, shop.blobs, dataset, other)).rejects.toThrow('its tree yields other examples now');
    const older = { ...dataset, formatVersion: 1 };
    await expect(releasedText(shop.db, shop.blobs, older, good!)).rejects.toThrow('it was written as xtuner 1');
  });

  async function released(kind: RowFormat['kind'], data: RowParameters['data'], metadata: RowFormat['metadata']) {
    const out = shop.path(`${kind}.jsonl`);
    const gates = { duplicates: 'keep', testTasks: 'keep', evaluations: 'keep', maxPerTask: null } as const;
    const { dataset } = await releaseDataset({
      db: shop.db,
      blobs: shop.blobs,
      query: everyTrajectory,
      general: null,
      name: kind,
      out,
      existing: 'same',
      format: { kind, metadata, span: 'reply' },
      parameters: { data, thresholds: { alpha: 0.5, beta: 0.2 }, state: 'verified', gates },
      codeVersion: 'test',
      waitMs: 2_000,
      signal: new AbortController().signal,
      onProgress: () => undefined,
      appender: projectingAppender(shop.db, shop.blobs),
      settled: async () => undefined,
    });
    const page = { limit: 10, towards: 'forwards', after: null, before: null } as const;
    const [found] = await readExamplePages(shop.db, [{ datasetId: dataset.id }], EXAMPLE_ORDERING, page);
    return { dataset, examples: found?.rows.map(({ row }) => row) ?? [], file: await readFile(out, 'utf8') };
  }
});
