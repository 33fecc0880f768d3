import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** A frozen dataset as it is now. `runs` are those that its examples come from. */
export interface DatasetRecord {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly format: string;
  readonly formatVersion: number;
  readonly query: unknown;
  readonly parameters: unknown;
  readonly position: Readonly<Record<string, string>>;
  readonly counts: unknown;
  readonly bytes: number;
  readonly sha256: string;
  readonly codeVersion: string;
  readonly runs: readonly string[];
  readonly releasedAt: Date;
  readonly withdrawnAt: Date | null;
  readonly withdrawReason: string | null;
}

/** Reads every dataset, by name and version. */
export async function readDatasets(db: Db): Promise<readonly DatasetRecord[]> {
  return read(db, sql`true`);
}

/** Reads the versions of one name, the first one first. */
export async function readDatasetsOfName(db: Db, name: string): Promise<readonly DatasetRecord[]> {
  return read(db, sql`name = ${name}`);
}

/** Reads the datasets that hold examples of any of the runs: what was made of them. */
export async function readDatasetsOfRuns(db: Db, runs: readonly string[]): Promise<readonly DatasetRecord[]> {
  return read(db, sql`runs && ${[...runs]}::uuid[]`);
}

/** Reads datasets by id; those that are not there are left out. */
export async function readDatasetsById(db: Db, ids: readonly string[]): Promise<readonly DatasetRecord[]> {
  return read(db, sql`dataset_id = any(${[...ids]}::uuid[])`);
}

async function read(db: Db, where: RawBuilder<unknown>): Promise<readonly DatasetRecord[]> {
  const { rows } = await sql<DatasetRecord>`
    select dataset_id as id, name, version, format, format_version as "formatVersion", query, parameters, position, counts, bytes,
           sha256, code_version as "codeVersion", runs, released_at as "releasedAt", withdrawn_at as "withdrawnAt",
           withdraw_reason as "withdrawReason"
    from datasets where ${where} order by name collate "C", version, dataset_id`.execute(db);
  return rows;
}
