import { sha256Hex } from '../digest/sha256.ts';
import { connect } from './pool.ts';

const DUPLICATE_DATABASE = '42P04';
const UNIQUE_VIOLATION = '23505'; // two processes made it at the same moment

/** Returns the address of the database for a name on the server of an address, making it when it is missing. */
export async function siblingDatabase(url: string, name: string): Promise<string> {
  const database = `espalier_${sha256Hex(name).slice(0, 16)}`;
  const client = await connect(url);
  try {
    await client.query(`create database ${database}`);
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    if (code !== DUPLICATE_DATABASE && code !== UNIQUE_VIOLATION) throw error;
  } finally {
    await client.end();
  }
  const sibling = new URL(url);
  sibling.pathname = `/${database}`;
  return sibling.toString();
}

/** Names the other databases of a server that hold a record: something was projected there. */
export async function siblingsWithRecords(url: string): Promise<readonly string[]> {
  const client = await connect(url);
  const found: string[] = [];
  try {
    const { rows } = await client.query<{ name: string }>(
      'select datname as name from pg_database where not datistemplate and datallowconn and datname <> current_database() order by 1',
    );
    for (const { name } of rows) if (await holdsRecord(url, name)) found.push(name);
  } finally {
    await client.end();
  }
  return found;
}

async function holdsRecord(url: string, database: string): Promise<boolean> {
  const sibling = new URL(url);
  sibling.pathname = `/${database}`;
  const client = await connect(sibling.toString());
  try {
    const { rows } = await client.query<{ known: boolean }>("select to_regclass('public.cursors') is not null as known");
    if (!rows[0]?.known) return false;
    const moved = await client.query('select from public.cursors where next_offset > 0 limit 1');
    return (moved.rowCount ?? 0) > 0;
  } finally {
    await client.end();
  }
}
