import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../../digest/sha256.ts';
import { THRESHOLD_DEFAULTS } from '../../../domain/revision/thresholds.ts';
import { readDatasetsById } from '../../../projections/datasets/read-datasets.ts';
import type { StageOutput } from '../../../projections/experiment-stages/read-stages.ts';
import { revise } from '../../revise/revise.ts';
import { releaseIteration } from '../../self-train/train-on-release.ts';
import { numbers, outputOf, type StageWork, settle, usedBy } from './stage-work.ts';

const listed = z.array(z.string());

/** Mines the revisions of a stage's run. Their ids are kept: another stage may have mined the same trees by other rules. */
export async function reviseStage(work: StageWork<'revise'>): Promise<StageOutput> {
  const { platform, seed, concurrency, signal, progress, turns } = work;
  const { alpha, beta, unparsed, beforeBranch, ...options } = work.stage.options;
  const [runId = ''] = usedBy(work, 'of').runIds;
  const mined: string[] = [];
  const { judge, ...counts } = await turns(runId, () =>
    revise(platform, {
      runId,
      judge: options.judge,
      environment: null,
      concurrency,
      signal,
      plan: { alpha, beta, unparsed, beforeBranch, seed, signal: options.signal },
      checking: options.verify ? 'execute' : 'none',
      progress: ({ trees, plannedTrees, revisions }) => progress(`${trees}/${plannedTrees} trees, ${revisions} revisions`),
      onTree: ({ revisionKeys, outcomes }) => {
        for (const [i, key] of revisionKeys.entries()) mined.push(`${key} ${outcomes[i]}`);
      },
    }),
  );
  signal.throwIfAborted();
  await settle(platform, signal);
  mined.sort();
  const ids = mined.map((line) => line.slice(0, line.lastIndexOf(' ')));
  const kept = await platform.blobs.put(Buffer.from(JSON.stringify(ids)), 'application/json');
  const { good, bad, pairs, judged, revisions, verified, meanRevisionLength } = counts;
  return outputOf({
    digest: sha256Hex([judge, alpha, beta, ...mined].join('\n')),
    runIds: [runId],
    judge,
    kept,
    values: numbers({ good, bad, pairs, judged, revisions, verified, length: meanRevisionLength, alpha, beta }),
  });
}

/** Freezes the examples of a stage's trees; an output without a dataset where there is nothing to learn from. */
export async function releaseStage(work: StageWork<'release'>): Promise<StageOutput> {
  const { platform, key, signal } = work;
  const { format, state, perTask, data, alpha } = work.stage.options;
  const source = usedBy(work, 'of');
  const { judge, kept } = source;
  const revisionKeys =
    kept === null ? undefined : listed.parse(JSON.parse(Buffer.from(await platform.blobs.get(kept.blob)).toString()));
  const released = await releaseIteration(platform, {
    name: `experiment-${key.slice(0, 32)}`,
    folder: releasesFolder(platform.config.home),
    runId: source.runIds[0] ?? '',
    format,
    judge,
    perTask,
    state,
    signal,
    thresholds: {
      alpha: alpha ?? source.values.alpha ?? THRESHOLD_DEFAULTS.alpha,
      beta: source.values.beta ?? THRESHOLD_DEFAULTS.beta,
    },
    ...(data === undefined ? {} : { data }),
    ...(revisionKeys === undefined ? {} : { revisionKeys }),
  });
  if (!released) return outputOf({ digest: sha256Hex('nothing to learn from'), values: { good: 0, revisions: 0, trained: 0 } });
  const { dataset, good, revisions, trained } = released;
  return outputOf({
    digest: dataset.sha256,
    runIds: [...source.runIds],
    datasetId: dataset.id,
    values: { good, revisions, trained },
  });
}

/**
 * Writes the released file of a stage that was done before again, where it is not there or has another size. Returns '' where it
 * is there, else what became of it: a release whose examples are gone cannot be made again, and only what reads it needs it.
 */
export async function restoreRelease(work: StageWork<'release'>, { datasetId, digest }: StageOutput): Promise<string> {
  const { database, config } = work.platform;
  const [dataset] = datasetId === null ? [] : await readDatasetsById(database.db, [datasetId]);
  if (!dataset || dataset.withdrawnAt) return '';
  const file = join(releasesFolder(config.home), `${dataset.name}.jsonl`);
  if ((await stat(file).catch(() => undefined))?.size === dataset.bytes) return '';
  try {
    const again = await releaseStage(work);
    return again.digest === digest ? 'its file was written again' : `its file ${file} is gone, and its examples are others now`;
  } catch (error) {
    if (work.signal.aborted) throw error;
    return `its file ${file} is gone: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Where released files of experiments lie, each under its dataset's name. */
export function releasesFolder(home: string): string {
  return join(home, 'experiments');
}
