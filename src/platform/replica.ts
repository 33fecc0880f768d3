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
    const held = await installationIdentity(replica.db).catch(() => null);
    if (held !== (await installationIdentity(db))) throw new NoReplica();
    return null;
  } catch (error) {
    if (error instanceof DatabaseUnreachable) return error;
    throw error;
  } finally {
    await replica?.close();
  }
}
