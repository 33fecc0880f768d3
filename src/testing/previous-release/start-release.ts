import { mkdir, mkdtemp, readdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ChildProcess, startNode } from '../worker-process.ts';
import { type ReleasePack, readPack } from './release-pack.ts';

const FIXTURES = new URL('./fixtures/', import.meta.url);
// Below the packages of this checkout, which its programs import; jest and the linter do not look there.
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/espalier-releases/', import.meta.url));

/** The programs of the release before this one, as they were compiled. */
export interface Release {
  readonly commit: string;
  /** Starts a program of it, `workers/project.ts` say, as `startProcess` starts ours. */
  start(script: string, args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess;
}

/** Unpacks the release before this one, once for each checkout. `make-pack.ts` says how it was made. */
export async function unpackRelease(): Promise<Release> {
  const [name] = await readdir(FIXTURES);
  const pack = await readPack(new URL(name ?? '', FIXTURES));
  const folder = join(CACHE, pack.commit);
  await unpack(pack, folder);
  return {
    commit: pack.commit,
    start: (script, args, env) => startNode([join(folder, 'bin/run.js'), script, ...args], `${pack.commit} ${script}`, env),
  };
}

/** Several test files may do so at once: the first folder that is complete takes the name. */
async function unpack({ files }: ReleasePack, folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  if ((await readdir(CACHE)).includes(folder.slice(CACHE.length))) return;
  const target = await mkdtemp(`${folder}-`);
  for (const [path, file] of Object.entries(files)) {
    await mkdir(dirname(join(target, path)), { recursive: true });
    await writeFile(join(target, path), 'text' in file ? file.text : Buffer.from(file.base64, 'base64'));
  }
  await rename(target, folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}
