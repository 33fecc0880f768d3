import { randomBytes, timingSafeEqual } from 'node:crypto';
import { sha256Bytes } from '../digest/sha256.ts';
import { isUuid } from '../domain/ids.ts';
import { newId } from '../events/new-id.ts';
import type { Db } from './database.ts';

export const SCOPES = ['ingest', 'read', 'train', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** An API key as it is listed: never the key itself, of which only the hash is stored. */
export interface ApiKey {
  readonly keyId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

/**
 * Makes a key of 256 random bits. It is given here once and cannot be shown again. Plain SHA-256 is enough to store it: unlike a
 * password it cannot be guessed, so there is nothing for a slow hash to slow down.
 */
export async function createKey(
  db: Db,
  { name, scopes }: { readonly name: string; readonly scopes: readonly Scope[] },
): Promise<{ readonly key: string; readonly apiKey: ApiKey }> {
  const key = `espalier_${randomBytes(32).toString('base64url')}`;
  const row = await db
    .insertInto('apiKeys')
    .values({ keyId: newId(), name, hash: hashOf(key), scopes: [...new Set(scopes)] })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
  return { key, apiKey: fromRow(row) };
}

/**
 * Revokes a key for ever. Servers that hold it in their cache obey within its life. Returns undefined when no such key is active.
 */
export async function revokeKey(db: Db, keyId: string): Promise<ApiKey | undefined> {
  if (!isUuid(keyId)) return undefined;
  const row = await db
    .updateTable('apiKeys')
    .set({ revokedAt: new Date() })
    .where('keyId', '=', keyId)
    .where('revokedAt', 'is', null)
    .returning(COLUMNS)
    .executeTakeFirst();
  return row && fromRow(row);
}

/** Lists all keys, revoked ones too, oldest first. */
export async function listKeys(db: Db): Promise<readonly ApiKey[]> {
  const rows = await db.selectFrom('apiKeys').select(COLUMNS).orderBy('createdAt').orderBy('keyId').execute();
  return rows.map(fromRow);
}

/** Returns whether at least one key could be used now. */
export async function hasActiveKey(db: Db): Promise<boolean> {
  const row = await db.selectFrom('apiKeys').select('keyId').where('revokedAt', 'is', null).limit(1).executeTakeFirst();
  return row !== undefined;
}

/** Finds the active key behind a presented text, or undefined. */
export async function verifyKey(db: Db, presented: string): Promise<ApiKey | undefined> {
  if (!FORM.test(presented)) return undefined; // saves the database what cannot be a key
  const hash = hashOf(presented);
  const row = await db
    .selectFrom('apiKeys')
    .select([...COLUMNS, 'hash'])
    .where('hash', '=', hash)
    .where('revokedAt', 'is', null)
    .executeTakeFirst();
  // The look-up uses a hash that an attacker cannot steer, so its timing reveals nothing; the comparison that decides is
  // constant-time.
  return row && timingSafeEqual(row.hash, hash) ? fromRow(row) : undefined;
}

/** Returns the SHA-256 under which a key is stored. */
export function hashOf(key: string): Buffer {
  return sha256Bytes(key);
}

const FORM = /^espalier_[A-Za-z0-9_-]{43}$/;
const COLUMNS = ['keyId', 'name', 'scopes', 'createdAt', 'revokedAt'] as const;

interface Row {
  readonly keyId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
}

function fromRow(row: Row): ApiKey {
  const scopes = SCOPES.filter((scope) => row.scopes.includes(scope));
  return { keyId: row.keyId, name: row.name, scopes, createdAt: row.createdAt, revokedAt: row.revokedAt };
}
