import { afterAll, expect, test } from '@jest/globals';
import { createDatabase, createTestDatabase } from '../testing/database.ts';
import { openDatabase } from './database.ts';
import { claimLogIdentity, installationIdentity } from './log-identity.ts';

const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

async function identityAt(url: string): Promise<string> {
  const database = await openDatabase(url);
  await claimLogIdentity(database.db, 'embedded');
  const identity = await installationIdentity(database.db);
  await database.close();
  return identity;
}

test('a copy of the database of an installation has its identity, and another installation has another', async () => {
  const original = await createTestDatabase();
  closing.push(() => original.drop());
  const identity = await identityAt(original.url);
  const copy = await createDatabase(process.env.DATABASE_URL ?? '', 'espalier_test', original.name);
  closing.push(() => copy.drop());
  expect([await identityAt(copy.url), await identityAt(original.url)]).toEqual([identity, identity]);
  const other = await createTestDatabase();
  closing.push(() => other.drop());
  expect(await identityAt(other.url)).not.toBe(identity);
});
