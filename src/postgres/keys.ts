import { randomBytes } from 'node:crypto';
import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import { sha256Bytes } from '../digest/sha256.ts';
import { isUuid } from '../domain/ids.ts';
import { newId } from '../events/new-id.ts';
import type { Db } from './database.ts';
import type { Tables } from './tables.ts';

/**
 * What a key may do: `ingest` records under streams of its own, `judge` what others recorded (revised rewards, verdicts),
 * `annotate` it with labels, scores and notes, `admin` all of it.
 */
export const SCOPES = ['ingest', 'read', 'judge', 'annotate', 'train', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];
/** In the place of names of projects: every project. */
export const ALL_PROJECTS = '*';

/** An API key as it is listed: never the key itself, of which only the hash is stored. */
export interface ApiKey {
  readonly keyId: string;
  /** The keys that it goes on for, the first of them first: what they opened is its own. */
  readonly replaces: readonly string[];
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The project that it writes unless a request names another of `projects`. */
  readonly project: string;
  /** The projects that it sees. */
  readonly projects: readonly string[] | 'all';
  readonly quota: Quota;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/** How much a key may ask for in a minute; null without a limit of its own. */
export interface Quota {
  readonly requestsPerMinute: number | null;
  /** Bytes of bodies that it sends. */
  readonly bytesPerMinute: number | null;
}

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The projects that it sees, the first of which it writes; `default` unless given. */
  readonly projects?: readonly string[] | 'all';
  readonly expiresAt?: Date | null;
  readonly quota?: Partial<Quota>;
  /** Keys whose streams it goes on with, as `replaceKey` names them. */
  readonly replaces?: readonly string[];
}

/**
 * Makes a key of 256 random bits. It is given here once and cannot be shown again. Plain SHA-256 is enough to store it: unlike a
 * password it cannot be guessed, so there is nothing for a slow hash to slow down.
 */
export async function createKey(
  db: Db,
  { name, scopes, projects = ['default'], expiresAt = null, quota = {}, replaces = [] }: NewKey,
): Promise<{ readonly key: string; readonly apiKey: ApiKey }> {
  const key = `espalier_${randomBytes(32).toString('base64url')}`;
  const row = await db
    .insertInto('apiKeys')
    .values({
      keyId: newId(),
      replaces: [...replaces],
      name,
      hash: hashOf(key),
      scopes: [...new Set(scopes)],
      expiresAt,
      project: projects === 'all' ? 'default' : (projects[0] ?? 'default'),
      projects: projects === 'all' ? [ALL_PROJECTS] : [...new Set(projects)],
      requestsPerMinute: quota.requestsPerMinute ?? null,
      bytesPerMinute: quota.bytesPerMinute ?? null,
    })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
  return { key, apiKey: fromRow(row) };
}

/**
 * Makes sure of a key that an operator made elsewhere, of every scope and project, by its SHA-256. One that is on record stays as it
 * is, revoked or not.
 */
export async function presetKey(db: Db, hash: string): Promise<void> {
  await db
    .insertInto('apiKeys')
    .values({ keyId: newId(), name: 'preset', hash: Buffer.from(hash, 'hex'), scopes: ['admin'], projects: [ALL_PROJECTS] })
    .onConflict((of) => of.column('hash').doNothing())
    .execute();
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

/** Returns the keys behind principals, revoked ones too, by principal; those that this database does not know are left out. */
export async function readKeysOfPrincipals(db: Db, principals: readonly string[]): Promise<ReadonlyMap<string, ApiKey>> {
  const ids = principals.map((principal) => principal.slice('key:'.length)).filter(isUuid);
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom('apiKeys').select(COLUMNS).where('keyId', 'in', ids).execute();
  return new Map(rows.map((row) => [`key:${row.keyId}`, fromRow(row)]));
}

/** Reads a key by its id, a revoked one too. */
export async function findKey(db: Db, keyId: string): Promise<ApiKey | undefined> {
  const row = await db.selectFrom('apiKeys').select(COLUMNS).where('keyId', '=', keyId).executeTakeFirst();
  return row && fromRow(row);
}

/** Returns whether at least one key could be used now. */
export async function hasActiveKey(db: Db): Promise<boolean> {
  const row = await db.selectFrom('apiKeys').select('keyId').where(active).limit(1).executeTakeFirst();
  return row !== undefined;
}

/**
 * Finds the active keys among presented strings, by these. They are looked up by their hashes, which an attacker cannot steer: the
 * time that it takes reveals nothing.
 */
export async function findActiveKeys(db: Db, presented: readonly string[]): Promise<ReadonlyMap<string, ApiKey>> {
  const byHash = new Map(presented.filter((each) => FORM.test(each)).map((each) => [hashOf(each).toString('hex'), each]));
  if (byHash.size === 0) return new Map(); // saves the database what cannot be a key
  const hashes = [...byHash.keys()].map((hash) => Buffer.from(hash, 'hex'));
  const rows = await db
    .selectFrom('apiKeys')
    .select([...COLUMNS, 'hash'])
    .where((of) => of('hash', '=', of.fn.any(of.val(hashes))))
    .where(active)
    .execute();
  return new Map(rows.map(({ hash, ...row }) => [byHash.get(hash.toString('hex')) ?? '', fromRow(row)]));
}

/** Returns which of some keys are active, by their ids. */
export async function readActiveKeyIds(db: Db, keyIds: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom('apiKeys').select('keyId').where('keyId', 'in', keyIds).where(active).execute();
  return new Set(rows.map(({ keyId }) => keyId));
}

/** Returns the SHA-256 under which a key is stored. */
export function hashOf(key: string): Buffer {
  return sha256Bytes(key);
}

/** Neither revoked nor expired, by the clock of the database, which all servers share. */
function active(of: ExpressionBuilder<Tables, 'apiKeys'>) {
  return of.and([of('revokedAt', 'is', null), of.or([of('expiresAt', 'is', null), of('expiresAt', '>', sql<Date>`now()`)])]);
}

const FORM = /^espalier_[A-Za-z0-9_-]{43}$/;
const COLUMNS = [
  ...(['keyId', 'replaces', 'name', 'scopes', 'project', 'projects'] as const),
  ...(['requestsPerMinute', 'bytesPerMinute'] as const),
  ...(['createdAt', 'expiresAt', 'revokedAt'] as const),
] as const;

type Row = Pick<Selectable<Tables['apiKeys']>, (typeof COLUMNS)[number]>;

function fromRow({ scopes, projects, requestsPerMinute, bytesPerMinute, ...row }: Row): ApiKey {
  return {
    ...row,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    projects: projects.includes(ALL_PROJECTS) ? 'all' : projects,
    quota: { requestsPerMinute, bytesPerMinute },
  };
}
