import { finished } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { connect } from '../../src/postgres/pool.ts';

/** The rows of one table as COPY text. */
export interface CopiedTable {
  readonly table: string;
  readonly chunks: readonly Buffer[];
}

/** Takes the rows of tables out of the database, so that the baseline writes the very rows that the projections wrote. */
export async function takeRows(url: string, tables: readonly string[]): Promise<readonly CopiedTable[]> {
  const client = await connect(url, 'bench copy');
  try {
    const taken: CopiedTable[] = [];
    for (const table of tables) {
      const chunks: Buffer[] = [];
      const stream = client.query(copyTo(`copy ${table} to stdout`));
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      await finished(stream);
      if (chunks.length > 0) taken.push({ table, chunks });
    }
    return taken;
  } finally {
    await client.end();
  }
}

/**
 * Writes the rows by COPY into fresh tables of the same shape, indexes and constraints included: one connection, table after
 * table, one transaction. Returns the milliseconds it took, commit included.
 */
export async function copyRows(url: string, tables: readonly CopiedTable[], schema: string): Promise<number> {
  const client = await connect(url, 'bench copy');
  try {
    await client.query(`create schema ${schema}`);
    for (const [i, { table }] of tables.entries())
      await client.query(`create table ${schema}.t${i} (like ${table} including all)`);
    await client.query('checkpoint');
    const began = performance.now();
    await client.query('begin');
    for (const [i, { chunks }] of tables.entries()) await copyInto(client, `${schema}.t${i}`, chunks);
    await client.query('commit');
    const took = performance.now() - began;
    await client.query(`drop schema ${schema} cascade`);
    return took;
  } finally {
    await client.end();
  }
}

async function copyInto(client: pg.Client, table: string, chunks: readonly Buffer[]): Promise<void> {
  const stream = client.query(copyFrom(`copy ${table} from stdin`));
  for (const chunk of chunks) if (!stream.write(chunk)) await new Promise((resolve) => stream.once('drain', resolve));
  stream.end();
  await finished(stream);
}
