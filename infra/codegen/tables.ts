import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isGenerated, readSources, type Source } from './generate-tables.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * `npm run codegen:tables` installs the SQL of the migrations and of every projection in a scratch database, and writes what it
 * then finds as TypeScript next to the SQL: row types for the query builder, and the columns that bulk writes name. With
 * `--check` it starts no server: each file holds a digest of itself and of its SQL (`tables.int.test.ts` makes the full
 * comparison).
 */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sources = await readSources();
  if (process.argv.includes('--check')) await check(sources);
  else {
    // The fold of a new projection imports what is only about to be written.
    for (const { target } of sources) if (!existsSync(target)) await writeFile(target, 'export const tables = {};\n');
    const { withScratchDatabase } = await import('./generate-tables.ts');
    const { generateTables } = await import('./generate-tables.ts');
    const files = await withScratchDatabase((pool) => generateTables(pool, sources));
    for (const { target, text } of files) await writeFile(target, text);
  }
}

async function check(sources: readonly Source[]): Promise<void> {
  for (const source of sources) {
    if (isGenerated(await readFile(source.target, 'utf8').catch(() => ''), source)) continue;
    const [file, sql] = [source.target, source.folder].map((path) => relative(ROOT, path));
    process.stderr.write(`${file} differs from the SQL in ${sql}: run npm run codegen:tables\n`);
    process.exitCode = 1;
  }
}
