import { createKey, revokeKey, type Scope } from '../../src/postgres/keys.ts';
import type { Stage } from './stage.ts';

/** Requests that the key `quota` may make in a minute. */
export const QUOTA = 3;

/** A key that an attacker has, or something that passes for one. */
export type Held = Scope | 'quota' | 'expired' | 'revoked' | 'unknown' | 'malformed';

const texts = new WeakMap<Stage, Map<string, Promise<string>>>();

/** Returns the header of a key of a project, made at the first use. */
export async function headerOf(stage: Stage, held: Held, project: string): Promise<{ readonly authorization: string }> {
  if (held === 'unknown') return { authorization: `Bearer espalier_${'A'.repeat(43)}` };
  if (held === 'malformed') return { authorization: "Bearer espalier_' or true --" };
  const made = texts.get(stage) ?? new Map<string, Promise<string>>();
  texts.set(stage, made);
  const name = `${held} ${project}`;
  const text = made.get(name) ?? make(stage, held, project);
  made.set(name, text);
  return { authorization: `Bearer ${await text}` };
}

async function make(stage: Stage, held: Exclude<Held, 'unknown' | 'malformed'>, project: string): Promise<string> {
  const { db } = stage.platform.database;
  const scopes: readonly Scope[] = held === 'quota' ? ['read'] : held === 'expired' || held === 'revoked' ? ['admin'] : [held];
  const { key, apiKey } = await createKey(db, {
    name: `${held} of the campaign`,
    scopes,
    projects: [project],
    expiresAt: held === 'expired' ? new Date(0) : null,
    ...(held === 'quota' ? { quota: { requestsPerMinute: QUOTA } } : {}),
  });
  if (held === 'revoked') await revokeKey(db, apiKey.keyId);
  return key;
}
