import type { SegmentRecord } from '../src/projections/images/read-segments.ts';

/** Query has no properties of its own: every field of it is a resolver. */
export type Root = Readonly<Record<never, never>>;

/** A policy at a version, whether or not the record says what it was made of. */
export interface PolicyVersionModel {
  readonly id: string;
  readonly version: number;
}

export interface ReachedModel {
  readonly position: string;
  readonly waitedMs: number;
  readonly query: Root;
}

/** A segment at its place in a history; of its record what was asked for and is there. */
export interface HistorySegmentModel extends Partial<SegmentRecord> {
  readonly id: string;
  readonly place: number;
  readonly hit: boolean;
}
