import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from './make-folder.ts';

/**
 * Writes down where an installation is served, for programs of this machine that name no server: a line for each server, the newest last. Returns
 * what removes it again. @param home ESPALIER_HOME.
 */
export async function publishUrl(home: string, url: string): Promise<() => Promise<void>> {
  const file = join(home, 'url');
  await makeFolder(home, 0o700);
  const others = async () =>
    (await readFile(file, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '' && line !== url);
  const write = async (urls: readonly string[]) => {
    const draft = `${file}.${randomBytes(8).toString('hex')}`; // of each server: a process may start several
    await writeFile(draft, urls.map((each) => `${each}\n`).join(''), { mode: 0o600 });
    await rename(draft, file);
  };
  await write([...(await others()), url]);
  return async () => {
    const left = await others();
    await (left.length === 0 ? rm(file, { force: true }) : write(left));
  };
}
