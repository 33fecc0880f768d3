import { describe, expect, test } from '@jest/globals';
import type { DataOf } from '../../events/catalogue.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { readDatasets, readDatasetsById, readDatasetsOfName } from './read-datasets.ts';

const database = useTestDatabase({ emptied: 'before-each' });

describe('datasets', () => {
  const builder = new EventBuilder('datasets');
  const [one, two] = [builder.id('run', 'one'), builder.id('run', 'two')];
  const release = (name: string, version: number, runs: string[]): DataOf<'DatasetReleased'> => ({
    datasetId: builder.id(name, version),
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

  test('datasets are read by name and by id, with every field as released', async () => {
    const recorded = new EventBuilder('recorded');
    for (const data of [release('b', 1, [one, two]), release('a', 2, [two]), release('a', 1, [one])])
      recorded.record('DatasetReleased', data, data.datasetId);
    await givenEvents(database.db, recorded.events);
    const names = (records: Awaited<ReturnType<typeof readDatasets>>) => records.map(({ name, version }) => `${name}@${version}`);
    expect(names(await readDatasets(database.db))).toEqual(['a@1', 'a@2', 'b@1']);
    expect(names(await readDatasetsOfName(database.db, 'a'))).toEqual(['a@1', 'a@2']);
    const [record] = await readDatasetsById(database.db, [builder.id('b', 1)]);
    const { datasetId: id, ...released } = release('b', 1, [one, two]);
    expect(record).toEqual({
      ...released,
      id,
      releasedAt: new Date(recorded.events[0]!.occurredAt),
      withdrawnAt: null,
      withdrawReason: null,
    }); // three were recorded
  });

  test('a dataset is withdrawn once; another word on it, and a withdrawal of an unknown one, wait in quarantine', async () => {
    const recorded = new EventBuilder('recorded');
    const data = release('a', 1, [one]);
    recorded.record('DatasetReleased', data, data.datasetId);
    const first = recorded.record('DatasetWithdrawn', { datasetId: data.datasetId, reason: 'leak' }, data.datasetId);
    const again = recorded.record('DatasetWithdrawn', { datasetId: data.datasetId, reason: 'again' }, data.datasetId);
    const lost = recorded.record('DatasetWithdrawn', { datasetId: builder.id('nothing'), reason: 'what' }, one);
    await givenEvents(database.db, recorded.events);
    expect(await readDatasets(database.db)).toMatchObject([{ withdrawnAt: new Date(first.occurredAt), withdrawReason: 'leak' }]);
    const quarantined = await database.db.selectFrom('quarantine').select(['projection', 'eventId', 'code', 'field']).execute();
    const field = 'data.datasetId';
    expect(quarantined).toEqual([
      { projection: 'journal', eventId: again.id, code: 'conflict', field },
      { projection: 'datasets', eventId: lost.id, code: 'missing-dataset', field },
    ]);
  });
});
