import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { pack } from '../../events/packed.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { tablesFileOf } from '../install.ts';
import { findDifferences, sumTables } from './compare-tables.ts';

const database = useTestDatabase({ emptied: 'never' });

test('rows that hold the same tokens in the two forms compare as equal, and one changed token as a difference', async () => {
  const builder = new EventBuilder('compared');
  const tree = builder.tree(builder.run());
  const tokens = { ids: pack('int32', [7, 8]), logProbs: pack('float32', [-1, -2]), mask: pack('uint8', [1, 0]) };
  const step = builder.step(tree, builder.rollout(tree), tree.rootStepId, 1, { tokens });
  await givenEvents(database.db, builder.events);
  const tables = await readFile(tablesFileOf('step-tree'), 'utf8');
  await database.pool.query(`begin; create schema other; set local search_path = other; ${tables};
    insert into other.steps select * from step_tree_v1.steps; commit`);
  const json = `update other.steps s set token_bytes = null, tokens = $1 where step_id = $2`;
  const compared = () =>
    database.db.transaction().execute(async (trx) => ({
      sums: (await sumTables(trx, 'step_tree_v1', 'other')).find(({ table }) => table === 'steps'),
      differences: await findDifferences(trx, { live: 'step_tree_v1', anew: 'other', table: 'steps', limit: 5 }),
    }));
  await database.pool.query(json, [JSON.stringify(tokens), step]);
  const same = await compared();
  expect([same.sums?.live, same.differences]).toEqual([same.sums?.anew, []]);
  await database.pool.query(json, [JSON.stringify({ ...tokens, ids: pack('int32', [7, 9]) }), step]);
  const differing = await compared();
  expect(differing.sums?.live).not.toEqual(differing.sums?.anew);
  expect(differing.differences).toEqual([expect.objectContaining({ table: 'steps', key: { step_id: step }, field: 'tokens' })]);
});
