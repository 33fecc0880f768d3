import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../../digest/sha256.ts';
import { refuseThresholds, THRESHOLD_DEFAULTS } from '../../../domain/revision/thresholds.ts';
import { positionAfter } from '../../../log/position.ts';
import { CODE_VERSION } from '../../../platform/code-version.ts';
import { openAppender } from '../../../platform/open-appender.ts';
import { parseJudgeText } from '../../../policies/judge.ts';
import { type DatasetRecord, readDatasetsById, readDatasetsOfName } from '../../../projections/datasets/read-datasets.ts';
import type { StageOutput } from '../../../projections/experiment-stages/read-stages.ts';
import { everyTrajectory } from '../../../projections/trajectories/trajectory-query.ts';
import { waitUntilProjected } from '../../../projections/wait-until.ts';
import { makeFolder } from '../../../runtime/make-folder.ts';
import { DatasetError } from '../../datasets/dataset-error.ts';
import { releaseDataset } from '../../datasets/release/release-dataset.ts';
import type { RowFormat } from '../../datasets/rows/row-options.ts';
import { revise } from '../../revise/revise.ts';
import { is, seed, stageName, threshold } from './option-fields.ts';
import { numbers, outputOf, refuseText, type StageWork, settle, stageForm, usedBy } from './stage-work.ts';

/** Kinds whose runs hold trees that others may mine. */
const COLLECTING = ['collect', 'search'];

const reviseFields = z.strictObject({
  stage: is('revise'),
  of: stageName.describe('Stage that collected or searched the trees.'),
  alpha: threshold.default(THRESHOLD_DEFAULTS.alpha).describe('What a good trajectory must reach, above 0.'),
  beta: threshold.default(THRESHOLD_DEFAULTS.beta).describe('By how much it must be better than the bad one.'),
  judge: z.string().min(1).max(2_000).default('planner').describe('Who finds the first error, as `--judge` takes it.'),
  verify: z.boolean().default(true).describe('Whether every revision is executed.'),
  signal: z
    .enum(['thought', 'turn'])
    .default('thought')
    .describe('Where the reflection lies: in the first good reply, or its own turn.'),
  unparsed: z.enum(['continue', 'stop']).default('continue').describe('What follows a reply of the judge without a verdict.'),
  beforeBranch: z.enum(['clamp', 'drop']).default('clamp').describe('What becomes of an error in a step that both share.'),
  seed,
});

/** Formats that a release is trained from; preferences (dpo) are not made of good trajectories. */
const TRAIN_FORMATS = ['agent-r', 'xtuner', 'sharegpt', 'openai', 'trl'] as const satisfies readonly RowFormat['kind'][];

const releaseFields = z.strictObject({
  stage: is('release'),
  of: stageName.describe('Stage that revised, collected or searched what is released.'),
  data: z
    .enum(['good', 'revisions', 'both'])
    .optional()
    .describe('Good trajectories, revisions, or both; left out, both where `of` revised and else the good ones.'),
  alpha: threshold.optional().describe('What a good trajectory must reach; left out, as where `of` revised, else 0.5.'),
  format: z.enum(TRAIN_FORMATS).default('openai').describe('Format of the file; `train` clones from `openai`.'),
  state: z.enum(['verified', 'composed']).default('verified').describe('Whether revisions that nobody executed are taken too.'),
  perTask: z.int().min(1).default(8).describe('Most good trajectories, and revisions, of one task.'),
});

export const reviseStage = stageForm({
  fields: reviseFields,
  uses: { of: COLLECTING },
  seededBy: 'name',
  check(options, refuse) {
    if (options.judge !== 'self') refuseText('judge', options.judge, (text) => parseJudgeText(text, null), refuse);
    const thresholds = refuseThresholds(options);
    if (thresholds !== null) refuse(['alpha'], thresholds, 'correct it');
  },
  run: revised,
});

export const releaseStage = stageForm({
  fields: releaseFields,
  uses: { of: ['revise', ...COLLECTING] },
  seededBy: 'nothing',
  run: releasedOutput,
  restore: restoreRelease,
});

const listed = z.array(z.string());

/** Mines the revisions of a stage's run. Their ids are kept: another stage may have mined the same trees by other rules. */
async function revised(work: StageWork<z.output<typeof reviseFields>>): Promise<StageOutput> {
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

type ReleaseWork = StageWork<z.output<typeof releaseFields>>;

const WAIT_MS = 120_000;
const counted = z.object({ good: z.int(), revisions: z.int(), trained: z.int() });

/**
 * Freezes the examples of a stage's trees: no duplicates, no task of the test split, at most so many of a task. What was released
 * before is taken as it is, whatever was mined since. An output without a dataset where there is nothing to learn from.
 * @throws DatasetError.
 */
async function releasedOutput(work: ReleaseWork): Promise<StageOutput> {
  const source = usedBy(work, 'of');
  const dataset = await released(work, source);
  if (!dataset) return outputOf({ digest: sha256Hex('nothing to learn from'), values: { good: 0, revisions: 0, trained: 0 } });
  return outputOf({
    digest: dataset.sha256,
    runIds: [...source.runIds],
    datasetId: dataset.id,
    judge: work.stage.options.data === 'good' ? null : source.judge,
    values: numbers({ ...counted.parse(dataset.counts), length: source.values.length }),
  });
}

async function released(
  { platform, key, signal, stage }: ReleaseWork,
  { runIds: [runId = ''], judge, kept, values }: StageOutput,
): Promise<DatasetRecord | null> {
  const { blobs } = platform;
  const { db } = platform.database;
  const { format, state, perTask, data, alpha } = stage.options;
  const name = `experiment-${key.slice(0, 32)}`;
  const folder = releasesFolder(platform.config.home);
  await makeFolder(folder);
  const out = join(folder, `${name}.jsonl`);
  const known = (await readDatasetsOfName(db, name)).at(-1);
  if (known?.withdrawnAt)
    throw new DatasetError('conflict', `${name}@${known.version} was withdrawn: ${known.withdrawReason}; choose another seed`);
  if (known && (await stat(out).catch(() => undefined))?.size === known.bytes) return known;
  const revisionKeys = kept && listed.parse(JSON.parse(Buffer.from(await blobs.get(kept.blob)).toString()));
  try {
    const { dataset } = await releaseDataset({
      db,
      blobs,
      name,
      out,
      signal,
      appender: openAppender(platform, 'datasets'),
      general: null,
      codeVersion: CODE_VERSION,
      waitMs: WAIT_MS,
      query: { ...everyTrajectory, runs: [runId] },
      format: { kind: format, metadata: 'include', span: 'reply' },
      parameters: {
        data: data ?? (judge === null ? 'good' : 'both'),
        thresholds: {
          alpha: alpha ?? values.alpha ?? THRESHOLD_DEFAULTS.alpha,
          beta: values.beta ?? THRESHOLD_DEFAULTS.beta,
        },
        state,
        ...(judge === null ? {} : { judge }),
        ...(revisionKeys ? { revisionSet: sha256Hex(revisionKeys.join('\n')) } : {}),
        gates: { duplicates: 'remove', testTasks: 'remove', evaluations: 'remove', maxPerTask: perTask },
      },
      ...(revisionKeys ? { revisionKeys: new Set(revisionKeys) } : {}),
      existing: 'replace', // the name holds the key of the stage: nobody else's file has it
      settled: (receipts) => waitUntilProjected(db, positionAfter(receipts), { timeoutMs: WAIT_MS, signal }),
      onProgress: () => undefined,
    });
    return dataset;
  } catch (error) {
    if (error instanceof DatasetError && error.code === 'nothing-matches') return null;
    throw error;
  }
}

/**
 * Writes the released file of a stage that was done before again, where it is not there or has another size. Returns '' where it
 * is there, else what became of it: a release whose examples are gone cannot be made again, and only what reads it needs it.
 */
async function restoreRelease(work: ReleaseWork, { datasetId, digest }: StageOutput): Promise<string> {
  const { database, config } = work.platform;
  const [dataset] = datasetId === null ? [] : await readDatasetsById(database.db, [datasetId]);
  if (!dataset || dataset.withdrawnAt) return '';
  const file = join(releasesFolder(config.home), `${dataset.name}.jsonl`);
  if ((await stat(file).catch(() => undefined))?.size === dataset.bytes) return '';
  try {
    const again = await releasedOutput(work);
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
