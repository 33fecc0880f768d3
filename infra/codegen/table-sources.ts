import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256Hex } from '../../src/digest/sha256.ts';

/** A folder of SQL that declares tables, and the file that is generated from it. */
export interface Source {
  readonly folder: string;
  /** The projection whose tables these are; null for the migrations. */
  readonly projection: string | null;
  readonly sql: string;
  readonly target: string;
}

const MIGRATIONS = fileURLToPath(new URL('../../migrations/', import.meta.url));
const MIGRATED = fileURLToPath(new URL('../../src/postgres/tables.ts', import.meta.url));
const PROJECTIONS = fileURLToPath(new URL('../../src/projections/', import.meta.url));

/** Reads the SQL of the migrations, and of every folder of projections with a `tables.sql`. */
export async function readSources(): Promise<readonly Source[]> {
  const names = (await readdir(MIGRATIONS)).filter((name) => name.endsWith('.sql')).sort();
  const sql = (await Promise.all(names.map((name) => readFile(join(MIGRATIONS, name), 'utf8')))).join('');
  const projections = (await readdir(PROJECTIONS)).filter((name) => existsSync(join(PROJECTIONS, name, 'tables.sql'))).sort();
  return [
    { folder: MIGRATIONS, projection: null, sql, target: MIGRATED },
    ...(await Promise.all(
      projections.map(async (projection) => {
        const folder = join(PROJECTIONS, projection);
        const own = await readFile(join(folder, 'tables.sql'), 'utf8');
        return { folder, projection, sql: own, target: join(folder, 'tables.ts') };
      }),
    )),
  ];
}

/**
 * Reads the narrower types that the SQL says behind columns: `outcome text, --: 'won' | 'lost'`. Returns table → column → type.
 */
export function narrowTypes(sql: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const types = new Map<string, Map<string, string>>();
  let table: Map<string, string> | undefined;
  for (const line of sql.split('\n')) {
    const begun = /^create table (\w+)/.exec(line)?.[1];
    if (begun !== undefined) {
      table = new Map();
      types.set(begun, table);
    }
    const [, column, type] = /^\s+"?(\w+)"?\s.*--: (.+)$/.exec(line) ?? [];
    if (column !== undefined && type !== undefined) table?.set(column, type.trim());
  }
  return types;
}

/** Puts the line on top by which `isGenerated` knows the text again. */
export function sign(text: string, { projection, sql }: Source): string {
  const from = projection === null ? 'migrations/*.sql' : 'tables.sql';
  return `// Generated from ${from} by \`npm run codegen:tables\`; digest of both: ${digestOf(text, sql)}\n${text}`;
}

/** Returns whether a file is what was generated from this SQL. */
export function isGenerated(file: string, source: Source): boolean {
  return file === sign(file.slice(file.indexOf('\n') + 1), source);
}

function digestOf(text: string, sql: string): string {
  return sha256Hex(`${sql}\0${text}`).slice(0, 16);
}
