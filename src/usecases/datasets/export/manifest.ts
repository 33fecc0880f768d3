import { basename, dirname, extname, join } from 'node:path';
import type { TrajectoryQuery } from '../../../projections/trajectories/trajectory-query.ts';
import type { ExportFormat } from './format.ts';
import type { SnapshotPosition } from './snapshot.ts';
import type { Lost } from './without-context.ts';

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

/** Trajectories without a row, their steps, and the trees of which none has one. */
export interface LeftOut {
  readonly trajectories: number;
  readonly trees: number;
  readonly steps: number;
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
  /** Rollouts that failed or were cancelled and that no filter asks for, where there are any: no row is made of them. */
  readonly unfinished?: number;
  /** Trajectories with captured calls next to their path that may belong to it, where there are any and the query keeps them. */
  readonly unclear?: number;
  /** Rollouts that nobody rewarded, where there are any: a format for training on rewards has no row of them. */
  readonly unrewarded?: LeftOut;
  /** Trained replies that were left out, where the format has no place for them. */
  readonly lost?: Lost;
  /** Rows of token ids that hold ids which a tokenizer made of texts, where there are any. */
  readonly retokenised?: number;
  /** Pictures in the folder next to the file, where there are any. */
  readonly pictures?: number;
  /** Pictures with characters that the published renderer may draw otherwise, where there are any. */
  readonly unshapedPictures?: number;
  /**
   * `jsonl`, where there are any: events of the runs and trees that are not in the file, as they took no effect: they wait in
   * quarantine, refer to what does, or repeat.
   */
  readonly leftOut?: number;
}

/**
 * Names the manifest of a dataset file: `_manifests/data.manifest-jsonl` of `data.jsonl`. A reader of folders (`load_dataset`)
 * takes every file for data whose name holds the ending of data anywhere, so this one holds none, and yet names its file alone.
 */
export function manifestPath(out: string): string {
  const ending = extname(out);
  return join(dirname(out), MANIFESTS, `${basename(out, ending)}.manifest${ending.replace('.', '-')}`);
}

/** Returns the file that a manifest is of; null for a name that is none of a manifest. */
export function fileOfManifest(path: string): string | null {
  const [, name, ending] = /^(.*)\.manifest(-[^.]*)?$/.exec(basename(path)) ?? [];
  if (name === undefined || basename(dirname(path)) !== MANIFESTS) return null;
  return join(dirname(dirname(path)), `${name}${ending?.replace('-', '.') ?? ''}`);
}

const MANIFESTS = '_manifests';

/** Writes a manifest as the text of its file. */
export function manifestText(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 2)}\n`;
}
