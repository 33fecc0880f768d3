import { setTimeout as delay } from 'node:timers/promises';
import { NoResultError } from 'kysely';
import { type Database, DatabaseUnreachable, openDatabase } from '../postgres/database.ts';
import { installationIdentity } from '../postgres/log-identity.ts';

const REACH_MS = 5_000;

/** DATABASE_REPLICA_URL leads to another record. */
export class NoReplica extends Error {
  override readonly name = 'NoReplica';
  constructor() {
    super(
      'the database at DATABASE_REPLICA_URL holds another record, or none; give the address of a standby of DATABASE_URL, or unset it',
    );
  }
}

/** Compares a standby with its primary. Returns why it cannot be reached, if so: it may come later. @throws NoReplica. */
export async function faultOfReplica(url: string, { db }: Database): Promise<DatabaseUnreachable | null> {
  let replica: Database | undefined;
  try {
    replica = await openDatabase(url, { applicationName: 'espalier start', max: 1, connectMs: REACH_MS });
    if ((await identityWithin(REACH_MS, replica)) !== (await installationIdentity(db))) throw new NoReplica();
    return null;
  } catch (error) {
    if (error instanceof DatabaseUnreachable) return error;
    throw error;
  } finally {
    await replica?.close();
  }
}

const UNDEFINED_TABLE = '42P01';
const LOOK_MS = 100;

/** The identity of what a standby holds; null where it holds nothing in the end: that of a new primary comes a moment later. */
async function identityWithin(limitMs: number, { db }: Database): Promise<string | null> {
  for (const deadline = Date.now() + limitMs; ; await delay(LOOK_MS)) {
    try {
      return await installationIdentity(db);
    } catch (error) {
      const isEmpty = error instanceof NoResultError || Object(error).code === UNDEFINED_TABLE;
      if (!isEmpty) throw error;
      if (Date.now() > deadline) return null;
    }
  }
}
