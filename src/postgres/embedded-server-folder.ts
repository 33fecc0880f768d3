import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Account } from './embedded-server-account.ts';
import type { PostgresBinaries } from './embedded-server-binaries.ts';
import { EmbeddedServerError, outputError, REMEDY } from './embedded-server-error.ts';

const SUPERUSER = 'espalier';

/** `fsync`: what is committed survives a power cut. `none`: tests, whose data nobody misses. */
export type Durability = 'fsync' | 'none';

/** Returns the address of the database of the server of a folder that has been prepared. */
export async function urlOf(folder: string, port: number): Promise<string> {
  const password = (await readFile(join(folder, 'password'), 'utf8')).trim();
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`;
}

/**
 * Makes the password (0600) and the data folder when there are none: for the supervisor of the folder alone. Both are filled under
 * another name and renamed, so they are whole or absent, whatever is killed.
 */
export async function prepareFolder(
  folder: string,
  binaries: PostgresBinaries,
  account: Account,
  durability: Durability,
): Promise<void> {
  const data = join(folder, 'data');
  const version = await readIfPresent(join(data, 'PG_VERSION'));
  if (version === undefined) await createDataFolder(folder, data, binaries, account, durability);
  else if (version.trim() !== binaries.major) {
    throw new EmbeddedServerError(
      'other-version',
      `${data} was made by Postgres ${version.trim()}, and this is Postgres ${binaries.major}: move it away (its runs can be exported with the version that made it), or ${REMEDY}`,
    );
  }
}

async function createDataFolder(
  folder: string,
  data: string,
  binaries: PostgresBinaries,
  account: Account,
  durability: Durability,
) {
  // What an initialisation left that was killed. Its `initdb` may still be writing, so the removal is retried.
  for (const name of await readdir(folder))
    if (name.startsWith('data.new-')) await rm(join(folder, name), { recursive: true, maxRetries: 10, retryDelay: 100 });
  const draft = `${data}.new-${randomBytes(6).toString('hex')}`;
  const passwordFile = `${draft}.password`; // the account cannot read the one that stays
  // One that is there belongs to data that was moved away, and may come back.
  const password = (await readIfPresent(join(folder, 'password'))) ?? `${randomBytes(24).toString('base64url')}\n`;
  try {
    await mkdir(draft, { mode: 0o700 });
    await writeFile(passwordFile, password, { mode: 0o600 });
    if (account.ids) for (const path of [draft, passwordFile]) await chown(path, account.ids.uid, account.ids.gid);
    await initialise(folder, draft, passwordFile, binaries, account, durability);
    await writeFile(join(folder, 'password'), password, { mode: 0o600, flush: true });
    await rename(draft, data);
  } finally {
    await rm(passwordFile, { force: true });
    await rm(draft, { recursive: true, force: true });
  }
}

async function initialise(
  folder: string,
  draft: string,
  passwordFile: string,
  binaries: PostgresBinaries,
  account: Account,
  durability: Durability,
): Promise<void> {
  const { command, args, options } = account.wrap(binaries.initdb, [
    `--pgdata=${draft}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    ...(await syncOf(durability, dirname(draft))),
  ]);
  await promisify(execFile)(command, args, options).catch((error: Error & { stdout?: string; stderr?: string }) => {
    throw outputError(folder, 'initdb', `${error.stdout ?? ''}\n${error.stderr || error.message}`);
  });
}

// of Linux: ext4, xfs, btrfs, overlay, tmpfs. Others may pass the call on to nobody.
const SYNCED_WHOLE = new Set([0xef53, 0x58465342, 0x9123683e, 0x794c7630, 0x01021994]);

/** One call for the whole file system where that is a local one, in place of one for each of a thousand small files. */
async function syncOf(durability: Durability, folder: string): Promise<readonly string[]> {
  if (durability === 'none') return ['--no-sync'];
  const isLocal = process.platform === 'linux' && SYNCED_WHOLE.has((await statfs(folder)).type);
  return isLocal ? ['--sync-method=syncfs'] : [];
}

/** Reads a text file; undefined when it is not there. Anything else that goes wrong is thrown. */
export async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined; // node:fs throws nothing else
    throw error;
  }
}
