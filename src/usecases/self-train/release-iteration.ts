import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import { positionAfter } from '../../log/position.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { makeFolder } from '../../platform/make-folder.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { type DatasetRecord, readDatasetsOfName } from '../../projections/datasets/read-datasets.ts';
import { everyTrajectory } from '../../projections/trajectories/trajectory-query.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { DatasetError } from '../datasets/dataset-error.ts';
import { releaseDataset } from '../datasets/release/release-dataset.ts';
import type { RowFormat } from '../datasets/rows/row-options.ts';

/** What an iteration of a method is trained on: which examples of which run, and what the file is called. */
export interface IterationRelease {
  readonly name: string;
  readonly folder: string;
  readonly runId: string;
  readonly format: Exclude<RowFormat['kind'], 'dpo'>;
  readonly thresholds: { readonly alpha: number; readonly beta: number };
  /** name@revision of the judge whose revisions are taken; null for good trajectories alone. */
  readonly judge: string | null;
  /** The most good trajectories, and the most revisions, of one task. */
  readonly perTask: number;
  /** Left out: good trajectories, and the revisions of the judge where one is named. */
  readonly data?: 'good' | 'revisions' | 'both';
  /** Left out: revisions that held when executed. */
  readonly state?: 'verified' | 'composed';
  /** The only revisions that may be written, by `keyInTree`; left out, all of the judge. */
  readonly revisionKeys?: readonly string[];
  readonly signal: AbortSignal;
}

/** A frozen dataset and where its file lies. */
export interface Released {
  readonly dataset: DatasetRecord;
  readonly path: string;
  readonly good: number;
  readonly revisions: number;
  /** Replies that are trained on. */
  readonly trained: number;
}

const WAIT_MS = 120_000;
const counted = z.object({ good: z.int(), revisions: z.int(), trained: z.int() });

/**
 * Freezes what a method trains on: no duplicates, no task of the test split, at most so many of a task; revisions only as they
 * were verified. What was released before is taken as it is, whatever was mined since. Null when there is nothing to learn from.
 * @throws DatasetError.
 */
export async function releaseIteration(platform: Platform, wanted: IterationRelease): Promise<Released | null> {
  const { name, folder, signal, judge, format, thresholds, perTask } = wanted;
  const { blobs } = platform;
  const { db } = platform.database;
  await makeFolder(folder);
  const path = join(folder, `${name}.jsonl`);
  const known = (await readDatasetsOfName(db, name)).at(-1);
  if (known?.withdrawnAt)
    throw new DatasetError(
      'conflict',
      `${name}@${known.version} was withdrawn: ${known.withdrawReason}; begin a new self-training`,
    );
  if (known && (await stat(path).catch(() => undefined))?.size === known.bytes) return releasedAs(known, path);
  const appender = openAppender(platform, 'datasets');
  try {
    const { dataset } = await releaseDataset({
      db,
      blobs,
      name,
      out: path,
      signal,
      appender,
      general: null,
      codeVersion: CODE_VERSION,
      waitMs: WAIT_MS,
      query: { ...everyTrajectory, runs: [wanted.runId] },
      format: { kind: format, metadata: 'include', span: 'reply' },
      parameters: {
        data: wanted.data ?? (judge === null ? 'good' : 'both'),
        thresholds,
        state: wanted.state ?? 'verified',
        ...(judge === null ? {} : { judge }),
        ...(wanted.revisionKeys ? { revisionSet: sha256Hex(wanted.revisionKeys.join('\n')) } : {}),
        gates: { duplicates: 'remove', testTasks: 'remove', evaluations: 'remove', maxPerTask: perTask },
      },
      ...(wanted.revisionKeys ? { revisionKeys: new Set(wanted.revisionKeys) } : {}),
      existing: 'replace', // the name holds the id of the self-training: nobody else's file has it
      settled: (receipts) => waitUntilProjected(db, positionAfter(receipts), { timeoutMs: WAIT_MS, signal }),
      onProgress: () => undefined,
    });
    return releasedAs(dataset, path);
  } catch (error) {
    if (error instanceof DatasetError && error.code === 'nothing-matches') return null;
    throw error;
  }
}

function releasedAs(dataset: DatasetRecord, path: string): Released {
  return { dataset, path, ...counted.parse(dataset.counts) };
}
