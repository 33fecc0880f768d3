import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makeFolder } from './make-folder.ts';

/**
 * The token of an installation: what a program on this machine shows a server on loopback, so that other accounts of the machine
 * and web pages cannot use it. It is a file in the installation's folder that only its owner reads, made by whoever needs it
 * first.
 */

const FORM = /^espalier_local_[A-Za-z0-9_-]{43}$/;
const LONGEST = 1_024; // bytes that are read of the file

/** Returns where the token of an installation is. @param home ESPALIER_HOME. */
export function tokenFile(home: string): string {
  return join(home, 'token');
}

/** Returns the token of an installation, and makes it where there is none. @throws TokenUnusable. */
export async function installationToken(home: string): Promise<string> {
  const found = await readToken(home);
  if (found !== undefined) return found;
  // Of several that begin at the same time the first one's link is made; the others read what it leads to.
  const draft = await writeDraft(home);
  try {
    await link(draft, tokenFile(home));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw unusable(home, error);
  } finally {
    await rm(draft, { force: true });
  }
  const made = await readToken(home);
  if (made === undefined) throw new TokenUnusable(tokenFile(home), 'was removed while it was made');
  return made;
}

/**
 * Replaces the token of an installation. Servers that run keep the old one until they are started again. @throws TokenUnusable.
 */
export async function renewInstallationToken(home: string): Promise<string> {
  const draft = await writeDraft(home);
  try {
    await rename(draft, tokenFile(home));
  } catch (error) {
    await rm(draft, { force: true });
    throw unusable(home, error);
  }
  return installationToken(home);
}

/** The file of the token cannot be trusted, or not be read or written. */
export class TokenUnusable extends Error {
  override readonly name = 'TokenUnusable';
  constructor(file: string, reason: string, remedy = 'remove it, and the next command makes another', cause?: unknown) {
    super(`the installation token ${file} ${reason}; ${remedy}`, { cause });
  }
}

/** Returns the token, undefined where there is none. @throws TokenUnusable for a file that others may have read or written. */
async function readToken(home: string): Promise<string | undefined> {
  const path = tokenFile(home);
  // A link could lead to a file that somebody else chose.
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    if (codeOf(error) === 'ELOOP') throw new TokenUnusable(path, 'is a link');
    throw unusable(home, error);
  });
  if (file === undefined) return undefined;
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new TokenUnusable(path, 'is no file');
    const owner = process.getuid?.(); // Windows has none, nor modes
    if (owner !== undefined && stat.uid !== owner) throw new TokenUnusable(path, 'belongs to another account');
    if (owner !== undefined && (stat.mode & 0o077) !== 0)
      throw new TokenUnusable(path, 'can be read by other accounts', `run \`chmod 600 ${path}\`, and \`espalier token --renew\``);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LONGEST), 0, LONGEST, 0);
    const token = buffer.toString('latin1', 0, bytesRead).trim();
    if (!FORM.test(token)) throw new TokenUnusable(path, 'holds no token');
    return token;
  } finally {
    await file.close();
  }
}

async function writeDraft(home: string): Promise<string> {
  const draft = `${tokenFile(home)}.${process.pid}-${randomBytes(4).toString('hex')}`;
  try {
    await makeFolder(dirname(draft), 0o700);
    await writeFile(draft, `espalier_local_${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx', flush: true });
  } catch (error) {
    throw unusable(home, error);
  }
  return draft;
}

function unusable(home: string, error: unknown): TokenUnusable {
  const why = codeOf(error) ?? String(error);
  return new TokenUnusable(
    tokenFile(home),
    `cannot be read or written (${why})`,
    'make the folder ESPALIER_HOME writable',
    error,
  );
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
