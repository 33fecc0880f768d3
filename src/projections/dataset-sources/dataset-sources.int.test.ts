import { beforeEach, describe, expect, test } from '@jest/globals';
import type { DataOf } from '../../events/catalogue.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import {
  countExamples,
  EXAMPLE_ORDERING,
  type ExampleFilter,
  readExamplePages,
  readPoliciesOfDatasets,
} from './read-examples.ts';

const database = useTestDatabase({ emptied: 'before-each' });
let builder: EventBuilder;
let runId: string;
beforeEach(async () => {
  builder = new EventBuilder('sources');
  runId = builder.run();
});

type Example = DataOf<'DatasetSourced'>['examples'][number];
const digest = (digit: string) => digit.repeat(64);

function release(name: string, sha256 = digest('a')): string {
  const datasetId = builder.id('dataset', name);
  const made = { query: {}, parameters: {}, position: {}, counts: {}, bytes: 1, codeVersion: '1', runs: [runId] };
  builder.record('DatasetReleased', { datasetId, name, version: 1, format: 'dpo', formatVersion: 1, sha256, ...made }, datasetId);
  return datasetId;
}

function recordSources(datasetId: string, examples: readonly Example[], sha256 = digest('a'), part = 0) {
  return builder.record('DatasetSourced', { datasetId, sha256, part, examples: [...examples] }, datasetId);
}

function good(line: number, treeId: string, goodRolloutId: string): Example {
  return { line, lines: 1, kind: 'good', treeId, goodRolloutId, badRolloutId: null, revisionId: null };
}

async function lines(filter: ExampleFilter, after: string | null = null, limit = 10) {
  const [page] = await readExamplePages(database.db, [filter], EXAMPLE_ORDERING, {
    limit,
    towards: 'forwards',
    after,
    before: null,
  });
  return page?.rows.map(({ row }) => row.line) ?? [];
}

describe('dataset sources', () => {
  test('sources are read in the order of the lines, page by page, by kind, tree and revision', async () => {
    const datasetId = release('one');
    const [treeId, revisionId] = [builder.id('tree'), builder.id('revision')];
    const revised: Example = { ...good(9, treeId, builder.id('r')), kind: 'revision', revisionId };
    recordSources(datasetId, [revised], digest('a'), 1);
    recordSources(datasetId, [good(1, treeId, builder.id('r')), good(3, builder.id('other'), builder.id('s'))]);
    await givenEvents(database.db, builder.events);
    expect(await lines({ datasetId })).toEqual([1, 3, 9]);
    const [first] = await readExamplePages(database.db, [{ datasetId }], EXAMPLE_ORDERING, {
      limit: 1,
      towards: 'forwards',
      after: null,
      before: null,
    });
    expect(await lines({ datasetId }, first?.rows[0]?.cursor)).toEqual([3, 9]);
    expect(await lines({ datasetId, treeId })).toEqual([1, 9]);
    expect(await lines({ datasetId, revisionId })).toEqual([9]);
    expect(await countExamples(database.db, [{ datasetId, kind: 'good' }, { datasetId }])).toEqual([2, 3]);
  });

  test('sources name the policy versions that acted in good and bad trajectories', async () => {
    const tree = builder.tree(runId);
    const rollouts = [3, 5].map((version, i) => builder.rollout(tree, i, { policy: { policyId: 'linear', version } }));
    const datasetId = release('one');
    const [goodRolloutId = '', badRolloutId = ''] = rollouts;
    recordSources(datasetId, [{ ...good(1, tree.treeId, goodRolloutId), kind: 'pair', badRolloutId }]);
    await givenEvents(database.db, builder.events);
    expect(await readPoliciesOfDatasets(database.db, [datasetId])).toEqual([
      { datasetId, id: 'linear', version: 3 },
      { datasetId, id: 'linear', version: 5 },
    ]);
  });

  test('the content released first determines the sources, and one of two concurrent releases becomes the fact', async () => {
    const datasetId = release('one', digest('a'));
    release('one', digest('b'));
    recordSources(datasetId, [good(2, builder.id('b'), builder.id('b'))], digest('b'));
    recordSources(datasetId, [good(1, builder.id('a'), builder.id('a'))], digest('a'));
    await givenEvents(database.db, builder.events);
    expect(await lines({ datasetId })).toEqual([1]);
    const waiting = database.db.selectFrom('quarantine').select(['projection', 'code', 'field']).orderBy('projection');
    expect(await waiting.execute()).toEqual([
      { projection: 'dataset-sources', code: 'conflict', field: 'data.sha256' },
      { projection: 'journal', code: 'conflict', field: 'data.datasetId' },
    ]);
  });

  test('the sources of an unreleased dataset wait in quarantine', async () => {
    const lost = recordSources(builder.id('nothing'), [good(1, builder.id('a'), builder.id('a'))]);
    await givenEvents(database.db, builder.events);
    expect(await database.db.selectFrom('quarantine').select(['projection', 'eventId', 'code', 'field']).execute()).toEqual([
      { projection: 'dataset-sources', eventId: lost.id, code: 'missing-dataset', field: 'data.datasetId' },
    ]);
  });
});
