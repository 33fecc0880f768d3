import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { useTestDatabase } from '../../testing/use-test-database.ts';

const database = useTestDatabase({ emptied: 'never' });

async function storage(): Promise<unknown> {
  const { rows } = await database.pool.query(
    `select (select string_agg(attname || ' ' || attstorage::text, ', ' order by attnum) from pg_attribute
             where attrelid = 'journal_chain_v1.chain_blocks'::regclass and attnum > 3) as blocks,
            (select reloptions from pg_class where oid = 'training_pool_v2.samples'::regclass) as samples`,
  );
  return rows[0];
}

test('tables from before keep blocks of the chain as they are, and room in the pages of samples, as new ones do', async () => {
  const made = await storage();
  expect(made).toEqual({ blocks: 'offsets e, event_ids e, digests e', samples: ['fillfactor=50'] });
  await database.pool.query(`alter table training_pool_v2.samples reset (fillfactor);
    alter table journal_chain_v1.chain_blocks alter offsets set storage default, alter event_ids set storage default,
      alter digests set storage default`);
  expect(await storage()).toEqual({ blocks: 'offsets x, event_ids x, digests x', samples: null });
  await database.pool.query(readFileSync(new URL('../../../migrations/0051-storage.sql', import.meta.url), 'utf8'));
  expect(await storage()).toEqual(made);
});
