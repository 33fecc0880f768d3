import type { Command } from 'commander';
import { createKey, listKeys, revokeKey, SCOPES, type Scope } from '../postgres/keys.ts';
import { say, table } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

/** `espalier keys`: who may connect when the server listens on more than loopback. */
export function addKeys(program: Command): void {
  const keys = program.command('keys');
  const create = keys
    .command('create')
    .description('make a key; it is shown once')
    .requiredOption('--name <name>', 'who or what will use it')
    .option('--scopes <list>', `some of ${SCOPES.join(',')}`, 'read');
  create.action(async (flags: { name: string; scopes: string }) => {
    const scopes = flags.scopes.split(',').map(scopeNamed);
    await withPlatform('keys', async ({ database }) => {
      const { key, apiKey } = await createKey(database.db, { name: flags.name, scopes });
      if (wantsJson(create)) return say(JSON.stringify({ key, keyId: apiKey.keyId, scopes }));
      say(key);
      say(
        `Kept only as a hash: copy it now. Send it as "Authorization: Bearer …"; revoke it with: espalier keys revoke ${apiKey.keyId}`,
      );
    });
  });
  const list = keys.command('list').description('list keys, never their text');
  list.action(() =>
    withPlatform('keys', async ({ database }) => {
      const all = await listKeys(database.db);
      if (wantsJson(list)) return say(JSON.stringify(all));
      say(
        table(
          ['key id', 'name', 'scopes', 'created', 'revoked'],
          all.map((k) => [k.keyId, k.name, k.scopes.join(','), k.createdAt.toISOString(), k.revokedAt?.toISOString() ?? '']),
        ),
      );
    }),
  );
  const revoke = keys.command('revoke').description('revoke a key for ever').argument('<id>', 'the key id');
  revoke.action((id: string) =>
    withPlatform('keys', async ({ database }) => {
      if (!(await revokeKey(database.db, id)))
        throw new Error(`no active key has the id ${id}; \`espalier keys list\` shows them`);
      say(wantsJson(revoke) ? JSON.stringify({ keyId: id, state: 'revoked' }) : `revoked ${id}`);
    }),
  );
}

function scopeNamed(text: string): Scope {
  const scope = SCOPES.find((candidate) => candidate === text.trim());
  if (!scope) throw new Error(`--scopes: there is no scope ${JSON.stringify(text)}; there are ${SCOPES.join(', ')}`);
  return scope;
}
