import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes down where an installation is served, for programs of this machine that name no server. Returns what removes it again,
 * unless another server has written its own. @param home ESPALIER_HOME.
 */
export async function publishUrl(home: string, url: string): Promise<() => Promise<void>> {
  const file = join(home, 'url');
  const draft = `${file}.${randomBytes(8).toString('hex')}`; // of each server: a process may start several
  await mkdir(home, { recursive: true, mode: 0o700 });
  await writeFile(draft, `${url}\n`, { mode: 0o600 });
  await rename(draft, file);
  return async () => {
    const served = await readFile(file, 'utf8').catch(() => undefined);
    if (served?.trim() === url) await rm(file, { force: true });
  };
}
