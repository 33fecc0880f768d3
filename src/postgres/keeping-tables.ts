import type { ColumnType, Generated } from 'kysely';

/**
 * The tables by which projections are kept going: versions, builds, cursors, what was set aside; whose log they fold; who may
 * ask.
 */
export interface ProjectionsTable {
  name: string;
  version: number;
  state: ColumnType<'running' | 'stopped', string | undefined, string>;
  reason: string | null;
}
export interface ProjectionBuildsTable {
  projection: string;
  version: number;
  state: 'building' | 'kept';
  digest: string;
  begun_at: Generated<Date>;
  /** Statements that make the indexes which a load left out; null when none wait. */
  deferred: ColumnType<string[] | null, string | null | undefined, string | null>;
  phase: Generated<'loading' | 'indexing' | 'folding'>;
  done: ColumnType<number | null, number | undefined, number>;
  of: ColumnType<number | null, number | undefined, number>;
  rate: ColumnType<number | null, number | undefined, number>;
  told_at: ColumnType<Date | null, undefined, Date>;
}
export interface CursorsTable {
  projection: string;
  version: number;
  topic: string;
  partition: number;
  next_offset: number;
  updated_at: Generated<Date>;
}
export interface QuarantineTable {
  projection: string;
  topic: string;
  partition: number;
  offset: number;
  event_id: string | null;
  type: string | null;
  stream: string | null;
  code: string;
  field: string;
  reason: string;
  body: Buffer;
  quarantined_at: Generated<Date>;
  released_at: Date | null;
  released_offset: number | null;
}
export interface LogIdentityTable {
  singleton: Generated<boolean>;
  identity: string;
}
export interface ApiKeysTable {
  key_id: string;
  name: string;
  hash: Buffer;
  scopes: string[];
  created_at: Generated<Date>;
  revoked_at: Date | null;
}
