import type { Command } from 'commander';
import { type ApiKey, createKey, listKeys, revokeKey, SCOPES, type Scope } from '../postgres/keys.ts';
import { PROJECT } from '../postgres/principal.ts';
import { replaceKey } from '../postgres/replace-key.ts';
import { print, table } from './terminal.ts';
import { wantsJson, wholeNumber, withPlatform } from './with-platform.ts';

interface CreateFlags {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly project: readonly string[] | 'all';
  readonly expires?: Date;
  readonly rate?: number;
  readonly bytes?: number;
}

/** `espalier keys`: who may connect when the server listens on more than loopback. */
export function addKeys(program: Command): void {
  const keys = program.command('keys');
  addCreate(keys);
  addReplace(keys);
  const list = keys.command('list').description('list keys, without their secret');
  list.action(() =>
    withPlatform('keys', async ({ database }) => {
      const all = await listKeys(database.db);
      if (wantsJson(list)) return print(JSON.stringify(all));
      print(
        table(['key id', 'name', 'scopes', 'projects', 'quota', 'created', 'expires', 'revoked', 'replaces'], all.map(rowOf)),
      );
    }),
  );
  const revoke = keys.command('revoke').description('revoke a key permanently').argument('<id>', 'the key id');
  revoke.action((id: string) =>
    withPlatform('keys', async ({ database }) => {
      if (!(await revokeKey(database.db, id)))
        throw new Error(`no active key has the id ${id}; \`espalier keys list\` shows them`);
      print(wantsJson(revoke) ? JSON.stringify({ keyId: id, state: 'revoked' }) : `revoked ${id}`);
    }),
  );
}

function addCreate(keys: Command): void {
  const create = keys
    .command('create')
    .description('create a key; it is shown once')
    .requiredOption('--name <name>', 'its user')
    .option('--scopes <list>', `some of ${SCOPES.join(',')}`, scopesNamed, ['read'] as readonly Scope[])
    .option('--project <list>', 'projects that it reads, of which it writes the first; * for all', projectsNamed, ['default'])
    .option('--expires <when>', 'its expiry: 90d, 12h, 30m, or an ISO 8601 time', momentOf('--expires'))
    .option('--rate <n>', 'requests per minute', wholeNumber('--rate', 1, 2_147_483_647))
    .option('--bytes <n>', 'bytes per minute', wholeNumber('--bytes', 1, 2_147_483_647));
  create.action(async ({ name, scopes, project: projects, expires: expiresAt = undefined, rate, bytes }: CreateFlags) => {
    const quota = { requestsPerMinute: rate ?? null, bytesPerMinute: bytes ?? null };
    await withPlatform('keys', async ({ database }) => {
      if (name.trim() === '') throw new Error('--name is empty: name who or what will use the key');
      const { key, apiKey } = await createKey(database.db, { name, scopes, projects, expiresAt: expiresAt ?? null, quota });
      if (wantsJson(create)) return print(JSON.stringify({ key, ...apiKey, scopes }));
      print(key);
      print(keepIt(apiKey));
    });
  });
}

interface ReplaceFlags {
  readonly expires?: Date;
  readonly until?: Date;
}

function addReplace(keys: Command): void {
  const replace = keys
    .command('replace')
    .description('create the successor of a key, which continues its runs, and revoke the key')
    .argument('<id>', 'the key id')
    .option('--expires <when>', 'expiry of the successor (default: the lifetime of its predecessor)', momentOf('--expires'))
    .option('--until <when>', 'accept the predecessor until then: 1h, 30m, or an ISO 8601 time', momentOf('--until'));
  replace.action(async (id: string, { expires: expiresAt, until }: ReplaceFlags) => {
    await withPlatform('keys', async ({ database }) => {
      const given = { ...(expiresAt ? { expiresAt } : {}), ...(until ? { until } : {}) };
      const replaced = await replaceKey(database.db, id, given);
      if (replaced.kind === 'unknown') throw new Error(`no key has the id ${id}; \`espalier keys list\` shows them`);
      if (replaced.kind === 'has-successor')
        throw new Error(`the key ${id} is replaced already; replace its successor: espalier keys replace ${replaced.keyId}`);
      const { key, apiKey, predecessor } = replaced;
      if (wantsJson(replace)) return print(JSON.stringify({ key, ...apiKey, predecessor }));
      print(key);
      const ends = predecessor.revokedAt ? 'is revoked' : `is accepted until ${predecessor.expiresAt?.toISOString()}`;
      print(`It goes on with what ${id} opened, which ${ends}. ${keepIt(apiKey)}`);
    });
  });
}

function keepIt({ keyId }: ApiKey): string {
  return `Kept only as a hash: copy it now. Send it as "Authorization: Bearer …"; revoke it with: espalier keys revoke ${keyId}`;
}

function rowOf({ keyId, replaces, name, scopes, projects, quota, createdAt, expiresAt, revokedAt }: ApiKey): readonly string[] {
  const limits = [
    ...(quota.requestsPerMinute === null ? [] : [`${quota.requestsPerMinute} requests/min`]),
    ...(quota.bytesPerMinute === null ? [] : [`${quota.bytesPerMinute} bytes/min`]),
  ];
  return [
    ...[keyId, name, scopes.join(','), projects === 'all' ? '*' : projects.join(','), limits.join(', ')],
    ...[createdAt, expiresAt, revokedAt].map((time) => time?.toISOString() ?? ''),
    replaces.at(-1) ?? '',
  ];
}

function scopesNamed(text: string): readonly Scope[] {
  return text.split(',').map((name) => {
    const scope = SCOPES.find((candidate) => candidate === name.trim());
    if (!scope) throw new Error(`--scopes: there is no scope ${JSON.stringify(name)}; there are ${SCOPES.join(', ')}`);
    return scope;
  });
}

function projectsNamed(text: string): readonly string[] | 'all' {
  if (text.trim() === '*') return 'all';
  return text.split(',').map((name) => {
    if (PROJECT.test(name.trim())) return name.trim();
    throw new Error(
      `--project: ${JSON.stringify(name)} names no project: 1 to 63 lower-case letters, digits and dashes, the first no dash; * alone for all`,
    );
  });
}

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000 } as const;

function momentOf(option: string): (text: string) => Date {
  return (text) => {
    const [, count, unit] = /^(\d{1,6})([dhm])$/.exec(text.trim()) ?? [];
    const at = unit ? Date.now() + Number(count) * UNITS[unit as keyof typeof UNITS] : Date.parse(text);
    if (!Number.isFinite(at))
      throw new Error(`${option} takes 90d, 12h, 30m, or a time as 2027-01-31T00:00:00Z, not ${JSON.stringify(text)}`);
    if (at <= Date.now()) throw new Error(`${option}: ${text} has passed; write a time to come`);
    return new Date(at);
  };
}
