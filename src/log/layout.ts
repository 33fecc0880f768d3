import { partitionForKey } from './partition-for-key.ts';

/** The partitions that a topic was recorded with, from one moment on. */
export interface Layout {
  readonly partitions: number;
  /**
   * Where each partition ended when the layout was recorded: what lies below was placed by an earlier layout, or, below those of
   * the first one, by a layout that nobody recorded. A partition that is not listed had no records.
   */
  readonly ends: readonly number[];
}

/** Topic → its recorded layouts, the oldest first; a topic without any is not listed. */
export type Layouts = ReadonlyMap<string, readonly Layout[]>;

/** Returns how many partitions of a topic are in use; undefined where none is recorded. */
export function partitionsInUse(layouts: Layouts, topic: string): number | undefined {
  return layouts.get(topic)?.at(-1)?.partitions;
}

/**
 * Returns whether streams of a topic may lie elsewhere than its newest layout would place them: then the record is asked where
 * each lies. It is the case once partitions were adopted, and where the topic held records before a layout was recorded.
 */
export function mayLieElsewhere(layouts: readonly Layout[]): boolean {
  return layouts.length > 1 || layouts.some(({ ends }) => ends.some((end) => end > 0));
}

/** Returns the partition of a stream that has no record yet. */
export function partitionOfNew(layouts: readonly Layout[], key: string): number {
  return partitionForKey(key, layouts.at(-1)?.partitions ?? 1);
}

/**
 * Returns whether a record of a stream may lie at a place: one of the layouts that were recorded by then puts the stream into
 * that partition, or no layout was.
 */
export function mayLieAt(layouts: readonly Layout[], key: string, partition: number, offset: number): boolean {
  const inForce = layouts.filter(({ ends }) => offset >= (ends[partition] ?? 0));
  const unrecorded = inForce.length === 0 || offset < (layouts[0]?.ends[partition] ?? 0);
  return unrecorded || inForce.some(({ partitions }) => partitionForKey(key, partitions) === partition);
}
