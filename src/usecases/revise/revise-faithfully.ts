import { resolve as resolvePath } from 'node:path';
import { pythonJson } from '../../domain/revision/published-rows.ts';
import { toXtuner } from '../../domain/revision/xtuner.ts';
import { judgeText } from '../../events/schemas/revisions.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { RunRefused } from '../collect/hold-run.ts';
import { AtomicFile, type Existing, type SealedFile } from '../datasets/export/atomic-file.ts';
import { type JudgedRun, type JudgeOptions, withJudgedRun } from './revise.ts';
import { type FaithfulCounts, type FaithfulPlan, type PublishedRun, reviseFaithfulRun } from './revise-faithful-run.ts';

export interface FaithfulRevisionOptions extends Omit<JudgeOptions, 'needsWorld'> {
  /** Without MAX_TOKEN_LENGTH, that of the search is taken. */
  readonly plan: Omit<FaithfulPlan, 'maxTokenLength'> & { readonly maxTokenLength?: number | undefined };
  /** The row file, and the same rows as the published conversion for xtuner has them. */
  readonly out: string;
  readonly xtuner: string | null;
  readonly existing: Existing;
  readonly concurrency: number;
  readonly progress?: (counts: FaithfulCounts) => void;
}

/** What came out. `files` is null when the signal was aborted: then nothing was written. */
export type FaithfulRevisionResult = FaithfulCounts & {
  /** name@revision; null when nobody was asked. */
  readonly judge: string | null;
  readonly files: { readonly out: SealedFile; readonly xtuner: SealedFile | null } | null;
};

/**
 * Writes the rows that the published program would write of the trees of a run: pairs, verdicts, draws and bytes by its rules,
 * the words of prompt and reflection ours. Files appear whole or not at all, the row file last. Only the answers of the judge are
 * recorded; they make a second call cheap and equal.
 * @throws RunRefused, DatasetError, PolicySpecError, AnotherWorld, PolicyError, EnvironmentError: each says what to do.
 */
export async function reviseFaithfully(platform: Platform, revising: FaithfulRevisionOptions): Promise<FaithfulRevisionResult> {
  const { out, xtuner, existing, signal } = revising;
  const { alpha, beta, dataType, revise } = revising.plan;
  for (const [name, value] of Object.entries({ alpha, beta }))
    if (!Number.isFinite(value))
      throw new RunRefused(`${name} is ${value}; it must be a number, on the environment's own scale of rewards`);
  if (xtuner !== null && resolvePath(xtuner) === resolvePath(out))
    throw new RunRefused(`the rows and their conversion cannot both be ${out}; name two files`);
  const asks = revise && dataType === 'centric';
  const judging = { ...revising, judge: asks ? revising.judge : 'direct', needsWorld: false };
  return withJudgedRun(platform, judging, async (run) => {
    const plan = { ...revising.plan, maxTokenLength: revising.plan.maxTokenLength ?? maxTokenLengthOf(run) };
    if (asks && run.judge === null) throw new RunRefused('the judge `direct` asks nobody, which is --revise 0');
    const rows = await AtomicFile.open(out, existing);
    let converted: ArrayFile | null = null;
    try {
      converted = xtuner === null ? null : await openArrayFile(xtuner, existing);
      const { whole, ...counts } = await reviseFaithfulRun({
        db: platform.database.db,
        runId: revising.runId,
        run: publishedRunOf(run, revising.runId),
        plan,
        plannedTrees: run.planned?.tasks.length ?? null,
        judge: run.judge,
        kind: run.kind,
        appender: run.appender,
        resolve: run.resolve,
        concurrency: revising.concurrency,
        signal,
        ...(revising.progress ? { progress: revising.progress } : {}),
        write: async (row) => {
          await rows.write(`${pythonJson(row)}\n`);
          await converted?.add(toXtuner(row.revise_log, 'drop'));
        },
      });
      const judge = run.judge && judgeText(run.judge);
      if (!whole) return { ...counts, judge, files: null };
      const files = { out: await rows.seal(), xtuner: (await converted?.seal()) ?? null };
      await converted?.publish();
      await rows.publish();
      return { ...counts, judge, files };
    } finally {
      await converted?.discard();
      await rows.discard();
    }
  });
}

/** @throws RunRefused for trees that the published program would not have: other prompts, ties, observations. */
function publishedRunOf({ planned, imported }: JudgedRun, runId: string): PublishedRun {
  if (imported) return { kind: 'imported', ...imported };
  const compat = planned?.search?.compat;
  if (compat) return { kind: 'searched', rewardScale: compat.rewardScale };
  throw new RunRefused(
    `run ${runId} holds no trees of the published program; faithful rows are made of what \`collect --search mcts --compat agent-r\` searched or \`import\` read from its search_results_<n>.json`,
  );
}

function maxTokenLengthOf({ planned }: JudgedRun): number | null {
  return planned?.search?.compat?.maxTokenLength ?? null;
}

/** A file that becomes one JSON array, value by value, in the form of `json.dump(values, file, ensure_ascii=False, indent=4)`. */
interface ArrayFile {
  add(value: object): Promise<void>;
  /** As those of `AtomicFile`. */
  seal(): Promise<SealedFile>;
  publish(): Promise<void>;
  discard(): Promise<void>;
}

const INDENT = 4;

/**
 * Opens an array file. Values hold no numbers, which Python may write in another way. @throws DatasetError as `AtomicFile.open`.
 */
async function openArrayFile(path: string, existing: Existing): Promise<ArrayFile> {
  const file = await AtomicFile.open(path, existing);
  let count = 0;
  return {
    async add(value) {
      // line ends within texts are escaped
      const text = JSON.stringify(value, null, INDENT).replaceAll('\n', `\n${' '.repeat(INDENT)}`);
      await file.write(`${count++ === 0 ? '[' : ','}\n${' '.repeat(INDENT)}${text}`);
    },
    async seal() {
      await file.write(count === 0 ? '[]' : '\n]');
      return file.seal();
    },
    publish: () => file.publish(),
    discard: () => file.discard(),
  };
}
