import type { DataOf } from '../../events/catalogue.ts';
import type { Delivery } from '../../events/envelope.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import type { Row } from '../../postgres/table.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

/**
 * Folds what the examples of released datasets were made of. Of two releases under one id the first is the fact; sources of
 * the content of the other, and of a dataset that was never released, go to quarantine.
 */
export const datasetSources: Projection = {
  name: 'dataset-sources',
  version: 2,
  handles: ['DatasetReleased', 'DatasetSourced'],
  project,
};

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const digests = await knownDigests(batch, trx);
  const released: Row<typeof tables.datasetDigests>[] = [];
  const examples = new Map<string, Row<typeof tables.datasetExamples>>();
  const poison: Poison[] = [];
  for (const delivery of batch) {
    if (isOf(delivery, 'DatasetReleased')) {
      const { datasetId, sha256 } = delivery.event.data;
      if (digests.has(datasetId)) continue;
      digests.set(datasetId, sha256);
      released.push({ datasetId, sha256 });
    }
    if (isOf(delivery, 'DatasetSourced')) {
      const { datasetId, sha256, examples: sourced } = delivery.event.data;
      const digest = digests.get(datasetId);
      if (digest === undefined) {
        const reason = `dataset ${datasetId} was never released; append its DatasetReleased first`;
        poison.push({ delivery, code: 'missing-dataset', field: 'data.datasetId', reason });
      }
      if (digest !== undefined && digest !== sha256) {
        const reason = `dataset ${datasetId} was released with the content ${digest}; a release of other content has no sources`;
        poison.push({ delivery, code: 'conflict', field: 'data.sha256', reason });
      }
      if (digest !== sha256) continue;
      for (const example of sourced) {
        const key = `${datasetId} ${example.line}`;
        if (!examples.has(key)) examples.set(key, rowOf(datasetId, example));
      }
    }
  }
  await insertRows(trx, tables.datasetDigests, released);
  await insertRows(trx, tables.datasetExamples, [...examples.values()]);
  return poison;
}

async function knownDigests(batch: readonly Delivery[], trx: Trx): Promise<Map<string, string>> {
  const ids = new Set(
    batch.flatMap((delivery) =>
      isOf(delivery, 'DatasetReleased') || isOf(delivery, 'DatasetSourced') ? [delivery.event.data.datasetId] : [],
    ),
  );
  if (ids.size === 0) return new Map();
  const rows = await rowsWhere(trx, 'datasetDigests', { datasetId: ids }, ['datasetId', 'sha256']);
  return new Map(rows.map(({ datasetId, sha256 }) => [datasetId, sha256]));
}

type SourcedExample = DataOf<'DatasetSourced'>['examples'][number];
function rowOf(datasetId: string, sourced: SourcedExample): Row<typeof tables.datasetExamples> {
  return {
    datasetId,
    line: sourced.line,
    lines: sourced.lines,
    kind: sourced.kind,
    treeId: sourced.treeId,
    goodRolloutId: sourced.goodRolloutId,
    badRolloutId: sourced.badRolloutId,
    revisionId: sourced.revisionId,
  };
}
