import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { camelCase, snakeCase } from '../../src/postgres/camel-case.ts';
import type { Database } from '../../src/postgres/database.ts';
import { schemaNameOf } from '../../src/projections/projection.ts';
import { projections } from '../../src/projections/registry.ts';
import { type FoundColumn, readColumns } from './read-columns.ts';
import { narrowTypes, type Source, sign } from './table-sources.ts';

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
    const found = await readColumns(pool, schemaOf(source));
    files.push({ target: source.target, text: sign(formatted(write(source, found), source.target), source) });
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
