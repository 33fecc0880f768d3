import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { DataOf } from '../../events/catalogue.ts';
import { type Database, openDatabase } from '../../postgres/database.ts';
import { createTestDatabase, type TestDatabase } from '../../testing/database.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { Story } from '../../testing/story.ts';
import { readDatasets, readDatasetsById, readDatasetsOfName, readDatasetsOfRuns } from './read-datasets.ts';

let testDatabase: TestDatabase;
let database: Database;
beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase(testDatabase.url);
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(() => emptyReadModels(database.db));

describe('datasets', () => {
  const story = new Story('datasets');
  const [one, two] = [story.id('run', 'one'), story.id('run', 'two')];
  const release = (name: string, version: number, runs: string[]): DataOf<'DatasetReleased'> => ({
    datasetId: story.id(name, version),
    name,
    version,
    format: 'xtuner',
    formatVersion: 1,
    query: { runs },
    parameters: { data: 'both' },
    position: { 'step-tree@1': 'trees.0:4' },
    counts: { lines: 3 },
    bytes: 10,
    sha256: 'a'.repeat(64),
    codeVersion: '1',
    runs,
  });

  test('datasets are read by name, by id and by their runs, with every field as released', async () => {
    const told = new Story('told');
    for (const data of [release('b', 1, [one, two]), release('a', 2, [two]), release('a', 1, [one])])
      told.tell('DatasetReleased', data, data.datasetId);
    await givenEvents(database.db, told.events);
    const names = (records: Awaited<ReturnType<typeof readDatasets>>) => records.map(({ name, version }) => `${name}@${version}`);
    expect(names(await readDatasets(database.db))).toEqual(['a@1', 'a@2', 'b@1']);
    expect(names(await readDatasetsOfName(database.db, 'a'))).toEqual(['a@1', 'a@2']);
    expect(names(await readDatasetsOfRuns(database.db, [one]))).toEqual(['a@1', 'b@1']);
    const [record] = await readDatasetsById(database.db, [story.id('b', 1)]);
    const { datasetId: id, ...released } = release('b', 1, [one, two]);
    expect(record).toEqual({
      ...released,
      id,
      releasedAt: new Date(told.events[0]!.occurredAt),
      withdrawnAt: null,
      withdrawReason: null,
    }); // three were told
  });

  test('a dataset is withdrawn once, and a withdrawal of an unknown one waits in quarantine', async () => {
    const told = new Story('told');
    const data = release('a', 1, [one]);
    told.tell('DatasetReleased', data, data.datasetId);
    const first = told.tell('DatasetWithdrawn', { datasetId: data.datasetId, reason: 'leak' }, data.datasetId);
    told.tell('DatasetWithdrawn', { datasetId: data.datasetId, reason: 'again' }, data.datasetId);
    const lost = told.tell('DatasetWithdrawn', { datasetId: story.id('nothing'), reason: 'what' }, one);
    await givenEvents(database.db, told.events);
    expect(await readDatasets(database.db)).toMatchObject([{ withdrawnAt: new Date(first.occurredAt), withdrawReason: 'leak' }]);
    const quarantined = await database.db.selectFrom('quarantine').select(['projection', 'event_id', 'code', 'field']).execute();
    expect(quarantined).toEqual([
      { projection: 'datasets', event_id: lost.id, code: 'missing-dataset', field: 'data.datasetId' },
    ]);
  });
});
