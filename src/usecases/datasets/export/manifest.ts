import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import type { ExportFormat } from './format.ts';
import type { SnapshotPosition } from './snapshot.ts';

/**
 * What a dataset file is and where it comes from. It holds no clock and no machine: the same export of the same record yields the
 * same bytes, manifest included.
 */
export interface Manifest {
  readonly schema: 'espalier-manifest/1';
  readonly format: ExportFormat;
  readonly formatVersion: number;
  readonly query: TrajectoryQuery;
  readonly codeVersion: string;
  /** The position of each projection in the snapshot that was exported. */
  readonly position: SnapshotPosition;
  readonly counts: ExportCounts;
  readonly bytes: number;
  readonly sha256: string;
}

export interface ExportCounts {
  /** Trajectories that match the query; `withoutStep` of them have no reply to train on and are not in a chat format's file. */
  readonly trajectories: number;
  readonly withoutStep: number;
  readonly trees: number;
  /** Steps as written: one that n trajectories share counts n times, except in `jsonl`, where each step is one event. */
  readonly steps: number;
  /** Sampled tokens of those steps, where the engine gave them. */
  readonly tokens: number;
  readonly lines: number;
  /** Pictures in the folder next to the file, where there are any. */
  readonly pictures?: number;
  /**
   * `jsonl`, where there are any: events of the runs and trees that are not in the file, as they took no effect: they wait in
   * quarantine, refer to what does, or repeat.
   */
  readonly leftOut?: number;
}

/** Names the manifest of a dataset file. */
export function manifestPath(out: string): string {
  return `${out}.manifest.json`;
}

/** Writes a manifest as the text of its file. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
