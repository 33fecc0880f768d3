import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { everyTrajectory } from '../projections/trajectories/trajectory-query.ts';
import type { ChatTokenizer } from '../usecases/datasets/export/chat-tokenizer.ts';
import { type ExportOptions, exportTrajectories } from '../usecases/datasets/export/export-trajectories.ts';
import { MemoryBlobs } from './memory-blobs.ts';
import { useTestDatabase } from './use-test-database.ts';

type Row = Record<string, unknown>;

/** Exports to Parquet files and reads them with DuckDB; hooks of jest open and close it, each test begins with nothing. */
export function parquetWorkshop() {
  const database = useTestDatabase({ emptied: 'before-each' });
  let duckdb: DuckDBInstance;
  let folder: string;
  beforeAll(async () => {
    duckdb = await DuckDBInstance.create(':memory:');
  });
  afterAll(() => duckdb.closeSync());
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'espalier-parquet-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  function exported(format: ExportOptions['format'], tokenizer?: ChatTokenizer, into = folder) {
    return exportTrajectories({
      db: database.db,
      blobs: new MemoryBlobs(),
      query: everyTrajectory,
      format,
      tokenizer,
      out: join(into, 'data'),
      existing: 'refuse',
      empty: 'refuse',
      codeVersion: 'test',
      waitMs: 2_000,
      signal: new AbortController().signal,
      onProgress: () => undefined,
    });
  }

  async function rows(format: ExportOptions['format'], tokenizer?: ChatTokenizer, into = folder): Promise<Row[]> {
    await exported(format, tokenizer, into);
    const connection = await duckdb.connect();
    try {
      return (await connection.runAndReadAll(`select * from read_parquet('${join(into, 'data')}')`)).getRowObjectsJson();
    } finally {
      connection.closeSync();
    }
  }

  return {
    get db() {
      return database.db;
    },
    get folder() {
      return folder;
    },
    out: () => join(folder, 'data'),
    exported,
    rows,
    /** Exports into a folder of that name, where one test exports several times. */
    async rowsIn(name: string, format: ExportOptions['format'], tokenizer?: ChatTokenizer): Promise<Row[]> {
      await mkdir(join(folder, name));
      return rows(format, tokenizer, join(folder, name));
    },
  };
}
