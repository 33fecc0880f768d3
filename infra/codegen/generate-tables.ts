import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256Hex } from '../../src/digest/sha256.ts';
import { camelCase, snakeCase } from '../../src/postgres/camel-case.ts';
import type { Database } from '../../src/postgres/database.ts';
import { startEmbeddedPostgres } from '../../src/postgres/embedded-server.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { openPool } from '../../src/postgres/pool.ts';
import { installProjections } from '../../src/projections/install.ts';
import { schemaNameOf } from '../../src/projections/projection.ts';
import { projections } from '../../src/projections/registry.ts';

/** Types of Postgres → types of TypeScript, as src/postgres/pool.ts reads them. */
const TYPES: Readonly<Record<string, string>> = {
  uuid: 'string',
  text: 'string',
  integer: 'number',
  bigint: 'number',
  numeric: 'string',
  'double precision': 'number',
  boolean: 'boolean',
  jsonb: 'unknown',
  'timestamp with time zone': 'Instant',
  bytea: 'Buffer',
  'uuid[]': 'string[]',
  'text[]': 'string[]',
  'bigint[]': 'string[]',
};

/** Returns the generated files of a database that holds all tables. */
export async function generateTables(
  pool: Database['pool'],
  sources: readonly Source[],
): Promise<readonly { readonly target: string; readonly text: string }[]> {
  const files = [];
  for (const source of sources) {
    const columns = await readColumns(pool, schemaOf(source));
    files.push({ target: source.target, text: sign(formatted(write(source, columns), source.target), source) });
  }
  return files;
}

function schemaOf({ projection, folder }: Source): string {
  if (projection === null) return 'public';
  const registered = projections.find(({ name }) => name === projection);
  if (!registered)
    throw new Error(`${folder} has a tables.sql and no projection of that name: add it to src/projections/registry.ts`);
  return schemaNameOf(registered);
}

function write(source: Source, found: readonly FoundColumn[]): string {
  const narrow = narrowTypes(source.sql);
  const body = [...new Set(found.map(({ table }) => table))].map((name) => {
    const columns = found.filter(({ table }) => table === name);
    const key = columns.filter((c) => c.keyPlace !== null).sort((a, b) => (a.keyPlace ?? 0) - (b.keyPlace ?? 0));
    const lines = columns.map((c) => `${property(c.column)}: ${columnOf(c, narrow.get(name)?.get(c.column))},`);
    return `${property(name)}: table('${name}', [${key.map((c) => `'${property(c.column)}'`).join(', ')}], {\n${lines.join('\n')}\n}),`;
  });
  const text = `export const tables = {\n${body.join('\n')}\n};\n`;
  const from = source.projection === null ? './' : '../../postgres/';
  const used = (names: readonly string[]) => names.filter((name) => new RegExp(`\\b${name}\\b[(<>;| ,]`).test(text)).join(', ');
  const types = used(['Blobs', 'Defaulted', 'Instant', 'Json']);
  return `${types ? `import type { ${types} } from '${from}column-types.ts';\n` : ''}\
import { ${used(['column', 'defaulted'])}, type TypesOf, table } from '${from}table.ts';

${text}
${declared(source)}`;
}

/** The tables of migrations are those that everyone has; those of a projection are added to them where its folder is compiled. */
function declared({ projection }: Source): string {
  if (projection === null)
    return `/** Every table, as the query builder sees them. Each projection adds its own, which are views over its live version. */
export interface Tables extends TypesOf<typeof tables> {}\n`;
  return `type Own = TypesOf<typeof tables>; // inside the module below, \`tables\` is its own
declare module '../../postgres/tables.ts' {\ninterface Tables extends Own {}\n}\n`;
}

function columnOf({ table, column, type, nullable, hasDefault, values }: FoundColumn, narrow: string | undefined): string {
  const plain = narrow ?? values?.map((value) => `'${value}'`).join(' | ') ?? TYPES[type];
  if (plain === undefined) throw new Error(`${table}.${column} is ${type}, which infra/codegen/generate-tables.ts does not know`);
  const read = type === 'jsonb' ? `Json<${plain}>` : plain;
  const full = nullable ? `${read} | null` : read;
  const name = type === 'timestamp with time zone' ? 'timestamptz' : type;
  return hasDefault ? `defaulted<Defaulted<${full}>>('${name}')` : `column<${full}>('${name}')`;
}

function property(name: string): string {
  if (snakeCase(camelCase(name)) === name) return camelCase(name);
  throw new Error(`${name} does not come back from ${camelCase(name)}: give the column a name without _ before a digit`);
}

const BIOME = fileURLToPath(new URL('../../node_modules/@biomejs/biome/bin/biome', import.meta.url));

function formatted(text: string, path: string): string {
  return execFileSync(process.execPath, [BIOME, 'format', `--stdin-file-path=${path}`], { input: text, encoding: 'utf8' });
}

interface FoundColumn {
  readonly table: string;
  readonly column: string;
  /** As Postgres writes it: `double precision`. */
  readonly type: string;
  readonly nullable: boolean;
  readonly hasDefault: boolean;
  /** The place in the primary key, from 1. */
  readonly keyPlace: number | null;
  /** The texts that a check allows, where one lists them. */
  readonly values: readonly string[] | null;
}

/** Reads the columns of a schema's tables, in the order in which the SQL makes them. */
async function readColumns(pool: Database['pool'], schema: string): Promise<readonly FoundColumn[]> {
  const { rows } = await pool.query<Omit<FoundColumn, 'values'> & { check: string | null }>(
    `select t.relname as table, c.attname as column, format_type(c.atttypid, c.atttypmod) as type, not c.attnotnull as nullable,
            c.atthasdef or c.attidentity <> '' as "hasDefault", array_position(k.conkey, c.attnum) as "keyPlace",
            (select pg_get_constraintdef(v.oid) from pg_constraint v
             where v.conrelid = t.oid and v.contype = 'c' and v.conkey = array[c.attnum] limit 1) as check
     from pg_class t join pg_attribute c on c.attrelid = t.oid and c.attnum > 0 and not c.attisdropped
     left join pg_constraint k on k.conrelid = t.oid and k.contype = 'p'
     where t.relnamespace = $1::regnamespace and t.relkind = 'r' and t.relname <> 'migrations'
     order by t.oid, c.attnum`,
    [schema],
  );
  return rows.map(({ check, ...found }) => ({ ...found, values: check === null ? null : listedIn(check) }));
}

/** Reads `CHECK ((kind = ANY (ARRAY['gap'::text, 'reordered'::text])))`. */
function listedIn(check: string): readonly string[] | null {
  const list = /= ANY \(ARRAY\[(.*)\]\)/.exec(check)?.[1];
  return list === undefined ? null : [...list.matchAll(/'([^']*)'::text/g)].map(([, value]) => value ?? '');
}

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

/** Hands over an empty database with all tables, on a server that is gone afterwards. */
export async function withScratchDatabase<Result>(work: (pool: Database['pool']) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-tables-'));
  try {
    const server = await startEmbeddedPostgres({ folder, durability: 'none' });
    const pool = openPool(server.url, { max: 2 });
    try {
      await migrate(pool);
      await installProjections(pool);
      return await work(pool);
    } finally {
      await pool.end();
      await server.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
