import { type Command, Option } from 'commander';
import { isTableName, readableTables } from '../projections/tables/tables.ts';
import { parseTableQuery, type TableRequest } from '../usecases/datasets/tables/table-query.ts';
import { atMoment } from './at-moment.ts';
import { print } from './terminal.ts';
import { wantsJson, withPlatformToRead } from './with-platform.ts';

interface TableFlags {
  readonly out: string;
  readonly where: readonly string[];
  readonly force?: boolean;
}

/** `espalier table`: a table whole, as a file that pandas, polars and duckdb read. */
export function addTable(program: Command): void {
  const command = program
    .command('table')
    .argument('<table>', `one of ${Object.keys(readableTables).join(', ')}`)
    .requiredOption('--out <file>', 'the output file: an Arrow IPC stream (pyarrow.ipc.open_stream, polars.read_ipc_stream)')
    .addOption(
      new Option(
        '--where <name=value>',
        'a parameter of GET /v1/tables/<table>: a filter (success=false), columns, limit, asOf; repeatable',
      )
        .argParser((text: string, before: readonly string[]) => [...before, text])
        .default([], 'all rows'),
    )
    .option('--force', 'replace an existing file');
  command.action(async (table: string, { out, where, force }: TableFlags) => {
    const { asked, moment, entities } = requestOf(table, where);
    const { writeTable } = await import('../usecases/datasets/tables/stream-table.ts');
    const written = await withPlatformToRead(
      'table',
      (platform, signal) =>
        atMoment(platform, moment ?? undefined, entities, signal, (db) =>
          writeTable({ db, blobs: platform.blobs }, asked, { out, existing: force ? 'replace' : 'refuse' }),
        ),
      { onFaults: 'report' },
    );
    if (wantsJson(command)) return print(JSON.stringify({ table, out, ...written }));
    print(`${out}: ${asked.table}, ${written.bytes} bytes, everything below ${written.position || 'the beginning'}`);
  });
}

/** @throws Error that names the option, or the table that there is not. */
function requestOf(table: string, where: readonly string[]): TableRequest {
  if (!isTableName(table))
    throw new Error(`no table is named ${JSON.stringify(table)}; there are ${Object.keys(readableTables).join(', ')}`);
  const query: Record<string, string> = {};
  for (const each of where) {
    const at = each.indexOf('=');
    const name = each.slice(0, at);
    if (at <= 0) throw new Error(`--where takes NAME=VALUE, not ${JSON.stringify(each)}`);
    if (name in query) throw new Error(`--where names ${name} twice; several values have commas between them`);
    query[name] = each.slice(at + 1);
  }
  const parsed = parseTableQuery(table, query);
  if (parsed.kind === 'parsed') return parsed.value;
  const [issue] = parsed.error.issues;
  throw new Error(`--where ${issue?.path.join('.') || Object.keys(query).join(', ')}: ${issue?.message ?? 'is not valid'}`);
}
