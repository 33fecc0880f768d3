import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Unseal } from '../events/codec.ts';
import { newId } from '../events/new-id.ts';
import { KEY_BYTES, openSealed, type StreamKey, streamKey } from '../events/seal.ts';
import type { Db } from './database.ts';
import { keyWrapping, MasterKeyUnusable } from './key-wrapping.ts';

/** An event was sealed by a key that the key store does not have: not a destroyed one, which keeps its row. */
export class KeyLost extends Error {
  override readonly name = 'KeyLost';
  constructor(keyId: string) {
    super(`key ${keyId} of a sealed event is not in the table stream_keys; restore that table from the backup of this database`);
  }
}

interface Row {
  readonly keyId: string;
  readonly stream: string;
  readonly secret: Buffer | null;
  readonly wrappedBy: string | null;
}

/** Returns the keys in force of streams; missing ones are made, all in one statement. */
export async function keysOfStreams(db: Db, streams: readonly string[]): Promise<ReadonlyMap<string, StreamKey>> {
  const found = new Map<string, StreamKey>();
  const missing = new Set(streams);
  // A key that another process made in the same moment is not seen by the statement that met it, and is by the next one.
  while (missing.size > 0) {
    for (const row of await findOrMake(db, [...missing])) {
      found.set(row.stream, streamKey(row.keyId, await unwrapped(row)));
      missing.delete(row.stream);
    }
  }
  return found;
}

async function findOrMake(db: Db, streams: readonly string[]): Promise<readonly (Row & { readonly secret: Buffer })[]> {
  const wrapping = keyWrapping();
  const made = await Promise.all(
    streams.map(async (stream) => {
      const secret = randomBytes(KEY_BYTES);
      return { stream, keyId: newId(), secret: wrapping ? await wrapping.wrap(secret) : secret };
    }),
  );
  const { rows } = await sql<Row & { secret: Buffer }>`
    with wanted as materialized (
      select * from unnest(${made.map(({ stream }) => stream)}::uuid[], ${made.map(({ keyId }) => keyId)}::uuid[],
                           ${made.map(({ secret }) => secret)}::bytea[]) as w(stream, key_id, secret)
    ), held as (
      select k.key_id, k.stream, k.secret, k.wrapped_by from public.stream_keys k join wanted using (stream) where k.secret is not null
    ), made as (
      insert into public.stream_keys (key_id, stream, secret, wrapped_by)
      select key_id, stream, secret, ${wrapping?.name ?? null}::text from wanted where stream not in (select stream from held)
      on conflict (stream) where secret is not null do nothing
      returning key_id, stream, secret, wrapped_by
    )
    select * from held union all select * from made`.execute(db);
  return rows;
}

const KEY_ID = /"sealed":\{"key":"([0-9a-f-]{36})"/;

/**
 * Returns what opens the sealed payload of records: their keys are read in one statement, and in none where no record is sealed.
 * Nothing is kept, so that a key that is destroyed opens nothing from then on. @throws KeyLost, when the payload is opened.
 */
export async function unsealerOf(db: Db, records: Iterable<string | Uint8Array>): Promise<Unseal> {
  const ids = new Set<string>();
  for (const record of records) {
    const id = sealedBy(record);
    if (id !== undefined) ids.add(id);
  }
  const keys = new Map<string, StreamKey | 'destroyed'>();
  if (ids.size > 0) {
    const { rows } = await sql<Row>`
      select key_id, stream, secret, wrapped_by from public.stream_keys where key_id = any(${[...ids]}::uuid[])`.execute(db);
    for (const row of rows) {
      const { keyId, secret } = row;
      keys.set(keyId, secret ? streamKey(keyId, await unwrapped({ ...row, secret })) : 'destroyed');
    }
  }
  return (sealed, eventId) => {
    const key = keys.get(sealed.key);
    if (!key) throw new KeyLost(sealed.key);
    return key === 'destroyed' ? 'forgotten' : openSealed(sealed, eventId, key);
  };
}

/** Returns whether something that a stream held is forgotten. */
export async function isForgotten(db: Db, stream: string): Promise<boolean> {
  return (await forgottenAmong(db, [stream])).size > 0;
}

/** Returns those of these streams of which something is forgotten. */
export async function forgottenAmong(db: Db, streams: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ stream: string }>`
    select distinct stream from public.stream_keys where stream = any(${[...streams]}::uuid[]) and secret is null`.execute(db);
  return new Set(rows.map(({ stream }) => stream));
}

export async function countDestroyedKeys(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from public.stream_keys where secret is null`.execute(db);
  return rows[0]?.count ?? 0;
}

/** Destroys the keys of streams; done again it does nothing. Returns all keys that these streams ever had. */
export async function destroyKeys(db: Db, streams: readonly string[]): Promise<readonly string[]> {
  await sql`
    update public.stream_keys set secret = null, destroyed_at = clock_timestamp()
    where stream = any(${[...streams]}::uuid[]) and secret is not null`.execute(db);
  const { rows } = await sql<{ keyId: string }>`
    select key_id from public.stream_keys where stream = any(${[...streams]}::uuid[]) order by key_id`.execute(db);
  return rows.map(({ keyId }) => keyId);
}

/** Reads all keys that streams ever had. */
export async function keysOf(
  db: Db,
  streams: readonly string[],
): Promise<readonly { readonly keyId: string; readonly stream: string; readonly destroyed: boolean }[]> {
  const { rows } = await sql<{ keyId: string; stream: string; destroyed: boolean }>`
    select key_id, stream, secret is null as destroyed from public.stream_keys
    where stream = any(${[...streams]}::uuid[]) order by key_id`.execute(db);
  return rows;
}

/** Counts the keys of streams that are in force. */
export async function countKeys(db: Db, streams: readonly string[]): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from public.stream_keys where stream = any(${[...streams]}::uuid[]) and secret is not null`.execute(
    db,
  );
  return rows[0]?.count ?? 0;
}

/** Returns which of these keys are destroyed. */
export async function destroyedKeys(db: Db, keyIds: readonly string[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ keyId: string }>`
    select key_id from public.stream_keys where key_id = any(${[...keyIds]}::uuid[]) and secret is null`.execute(db);
  return new Set(rows.map(({ keyId }) => keyId));
}

const MARK = Buffer.from('"sealed":{"key":"');

/** Returns the id of the key that sealed a record, by its bytes: before it is parsed, which happens once. */
function sealedBy(record: string | Uint8Array): string | undefined {
  if (typeof record === 'string') return KEY_ID.exec(record)?.[1];
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
  const at = bytes.indexOf(MARK);
  return at < 0 ? undefined : KEY_ID.exec(bytes.toString('latin1', at, at + MARK.length + 37))?.[1];
}

async function unwrapped({ keyId, secret, wrappedBy }: Row & { readonly secret: Buffer }): Promise<Buffer> {
  if (wrappedBy === null) return secret;
  const wrapping = keyWrapping();
  if (wrapping?.name !== wrappedBy)
    throw new MasterKeyUnusable(
      `key ${keyId} is wrapped by the master key ${wrappedBy}, and ${wrapping ? `ESPALIER_MASTER_KEY_FILE holds ${wrapping.name}` : 'ESPALIER_MASTER_KEY_FILE is not set'}; name the file with that key`,
    );
  return wrapping.unwrap(secret);
}
