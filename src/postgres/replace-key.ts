import { sql } from 'kysely';
import { isUuid } from '../domain/ids.ts';
import type { Db } from './database.ts';
import { type ApiKey, createKey, findKey } from './keys.ts';

export interface Replacement {
  /** When the successor ends; by default it lasts as long as its predecessor was made for. */
  readonly expiresAt?: Date;
  /** Until when the predecessor is accepted besides; by default it is revoked at once. */
  readonly until?: Date;
}

/** `unknown`: there is no such key. `replaced`: it has a successor already, which is the one to replace. */
export type Replaced =
  | { readonly kind: 'replaced'; readonly key: string; readonly apiKey: ApiKey; readonly predecessor: ApiKey }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'has-successor'; readonly keyId: string };

/**
 * Makes the successor of a key, in one transaction with the end of its predecessor: the same name, scopes, projects and quota,
 * another text. It goes on with what its predecessors opened, and those not with what it opens. A key that was revoked or has
 * expired can still be replaced: its streams would have no owner otherwise.
 */
export async function replaceKey(db: Db, keyId: string, { expiresAt, until }: Replacement = {}): Promise<Replaced> {
  if (!isUuid(keyId)) return { kind: 'unknown' };
  return db.transaction().execute(async (trx) => {
    await sql`select from api_keys where key_id = ${keyId}::uuid for update`.execute(trx);
    const predecessor = await findKey(trx, keyId);
    if (!predecessor) return { kind: 'unknown' };
    const { rows: successors } = await sql<{ keyId: string }>`
      select key_id from api_keys where replaces[cardinality(replaces)] = ${keyId}::uuid`.execute(trx);
    if (successors[0]) return { kind: 'has-successor', keyId: successors[0].keyId };
    const { name, scopes, projects, project, quota, replaces, createdAt, expiresAt: end } = predecessor;
    const lasts = end === null ? null : new Date(Date.now() + end.getTime() - createdAt.getTime());
    const ordered = projects === 'all' ? projects : [project, ...projects.filter((each) => each !== project)];
    const key = await createKey(trx, {
      name,
      scopes,
      projects: ordered,
      quota,
      expiresAt: expiresAt ?? lasts,
      replaces: [...replaces, keyId],
    });
    if (until)
      await sql`
      update api_keys set expires_at = least(expires_at, ${until}) where key_id = ${keyId}::uuid and revoked_at is null`.execute(
        trx,
      );
    else
      await sql`
      update api_keys set revoked_at = coalesce(revoked_at, now()) where key_id = ${keyId}::uuid`.execute(trx);
    return { kind: 'replaced', ...key, predecessor: (await findKey(trx, keyId)) ?? predecessor };
  });
}
