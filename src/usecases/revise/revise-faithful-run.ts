import type { ChatMessage } from '../../domain/history/prompt.ts';
import { type LeafPath, type PublishedPairing, pairAsPublished } from '../../domain/revision/pair-paths.ts';
import {
  nextPublishedJudging,
  type PublishedDataType,
  type PublishedGoodRow,
  type PublishedJudging,
  type PublishedPairRow,
  rowsAsPublished,
} from '../../domain/revision/published-rows.ts';
import type { Thresholds } from '../../domain/revision/thresholds.ts';
import { publishedOpening } from '../../domain/search/published-prompt.ts';
import type { SearchedStep } from '../../domain/search/search-tree.ts';
import { growTree, type Tree } from '../../domain/tree/grow-tree.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { forgottenAmong } from '../../postgres/stream-keys.ts';
import { readSearchedTree, type SearchedTree } from '../../projections/revisions/read-searched-trees.ts';
import { type PublishedFile, readPublishedFiles } from '../../projections/runs/read-published-files.ts';
import { forEachOf } from '../collect/all-or-stop.ts';
import { RunRefused } from '../collect/hold-run.ts';
import { type ReviseOptions, refuseAnotherWorld } from './revise-run.ts';
import { probePath } from './revise-tree.ts';
import { type JudgeAnswer, openVerdicts, type Verdicts } from './revise-verdicts.ts';
import { readRecordedRevisions } from './revised-tree.ts';

/**
 * What decides which rows come out of a run, besides the judge. Thresholds are on the environment's own scale: ScienceWorld
 * counts to 100.
 */
export interface FaithfulPlan extends Thresholds {
  readonly dataType: PublishedDataType;
  /** The published `--revise`. */
  readonly revise: boolean;
  /** Of Python's shuffle; the published program takes 123. */
  readonly seed: number;
  /** MAX_TOKEN_LENGTH, above which the log shown to a judge is cut; null for no limit. */
  readonly maxTokenLength: number | null;
}

/**
 * Where the trees come from, which decides how their conversations open: a search by the published rules, or files of the
 * published program.
 */
export type PublishedRun = { readonly rewardScale: number } & (
  | { readonly kind: 'searched' }
  | { readonly kind: 'imported'; readonly system: string | null; readonly acknowledgement: string | null }
);

interface FaithfulOptions
  extends Pick<
    ReviseOptions,
    'db' | 'runId' | 'plannedTrees' | 'judge' | 'kind' | 'appender' | 'resolve' | 'concurrency' | 'signal'
  > {
  readonly run: PublishedRun;
  readonly plan: FaithfulPlan;
  /** Called in the order of the published program, whatever the concurrency. */
  readonly write: (row: PublishedPairRow | PublishedGoodRow) => Promise<void>;
  readonly progress?: (counts: FaithfulCounts) => void;
}

export interface FaithfulCounts {
  readonly trees: number;
  readonly plannedTrees: number;
  /** Planned trees of which the published program would have no file: never opened, or not searched to their end. */
  readonly unfinished: number;
  /** Trees that earned nothing. */
  readonly skipped: number;
  /** Pairs far enough apart, and those of them whose good trajectory is good enough. */
  readonly found: number;
  readonly accepted: number;
  readonly rows: number;
  /**
   * Steps judged for the rows, each counted once for every pair as the published program asks, and what was asked of the judge
   * now.
   */
  readonly judged: number;
  readonly asked: number;
}

/**
 * Makes the published program's rows from the trees of a run, in its order (specification of Agent-R, §2). Every answer of the
 * judge is recorded as it is given, under the ids that sound mining assigns, and never asked for again: killed anywhere and
 * called again, it writes the same rows. Nothing else is recorded, since a splice before the branch is none that RevisionComposed
 * can show. The read models must hold the whole log. One thing our own searches cannot give back: WebShop's module drops the
 * colon of a `Thought 1:` at the node; they record the reply with it.
 * @returns false in `whole` when the signal was aborted before the last row.
 * @throws RunRefused where the payload of a tree is forgotten, AnotherWorld, PolicyError of a judge that cannot
 * be asked, EnvironmentError.
 */
export async function reviseFaithfulRun(options: FaithfulOptions): Promise<FaithfulCounts & { readonly whole: boolean }> {
  const { db, judge, plan } = options;
  const { files, opened } = await readPublishedFiles(db, options.runId);
  const forgotten = await forgottenAmong(
    db,
    files.map(({ treeId }) => treeId),
  );
  if (forgotten.size > 0)
    throw new RunRefused(
      `the payload of ${forgotten.size} of the ${files.length} trees of run ${options.runId} is forgotten, and the published program reads all of them`,
    );
  const unfinished = Math.max(options.plannedTrees ?? 0, opened) - files.length;
  const verdicts = plan.revise && plan.dataType === 'centric' ? judge && openVerdicts(judge, db, options.appender) : null;
  const counted = { trees: 0, skipped: 0, found: 0, accepted: 0, rows: 0, judged: 0 };
  const counts = () => ({ ...counted, plannedTrees: files.length, unfinished, asked: verdicts?.asked() ?? 0 });
  let before: Promise<boolean> = Promise.resolve(true);

  /** Writes the rows of a tree behind those of the tree before it. False when that one could not be finished. */
  async function inTurn(turn: Promise<boolean>, mine: Promise<MinedTree | null>): Promise<boolean> {
    const mined = await mine;
    if (!(await turn) || !mined) return false;
    const { pairing, judged } = mined;
    const judgingOf = ({ leafStepId }: { readonly leafStepId: string }) => {
      const judging = judged.get(leafStepId);
      if (!judging) throw new RangeError(`the trajectory that ends at ${leafStepId} was not judged`);
      return judging;
    };
    for (const row of rowsAsPublished({ ...mined, ...plan, judgingOf })) {
      await options.write(row);
      counted.rows++;
      if ('revise_feedback' in row) counted.judged += row.revise_feedback.length;
    }
    counted.trees++;
    counted.skipped += pairing.skipped ? 1 : 0;
    counted.found += pairing.skipped ? 0 : pairing.found.length;
    counted.accepted += pairing.accepted.length;
    options.progress?.(counts());
    return true;
  }

  await forEachOf(files, options, async (file, signal) => {
    const written = inTurn(before, mineTree(options, verdicts, file, signal));
    before = written;
    return (await written) ? undefined : 'stop';
  });
  return { ...counts(), whole: counted.trees === files.length };
}

interface MinedTree {
  readonly taskNum: string;
  readonly opening: readonly ChatMessage[];
  readonly pairing: PublishedPairing;
  /** By the leaf of the bad trajectory. */
  readonly judged: ReadonlyMap<string, PublishedJudging>;
}

/** Null when the signal was aborted on the way. */
async function mineTree(
  options: FaithfulOptions,
  verdicts: Verdicts | null,
  { treeId, alias }: PublishedFile,
  signal: AbortSignal,
): Promise<MinedTree | null> {
  const { db, run, plan, kind, resolve } = options;
  if (signal.aborted) return null;
  const tree = await readSearchedTree(db, treeId, resolve);
  if (!tree) throw new RangeError(`there is no tree ${treeId}`);
  if (kind) refuseAnotherWorld(tree, kind);
  const pairing = pairAsPublished(unscaled(tree.tree, run.rewardScale), plan, plan.seed);
  const mined = { taskNum: alias, opening: openingOf(run, tree), pairing };
  if (!verdicts) return { ...mined, judged: new Map() };
  const { answers } = await readRecordedRevisions(db, treeId);
  const judged = await judgeFaithfully(
    { tree, verdicts, answers, kind, maxTokenLength: plan.maxTokenLength, resolve, signal },
    pairing,
  );
  return judged && { ...mined, judged };
}

/** What precedes the first reply: as the files had it, or as the published search opens. */
function openingOf(run: PublishedRun, { instruction, firstObservation }: SearchedTree): readonly ChatMessage[] {
  if (run.kind === 'searched') return publishedOpening({ instruction, observation: firstObservation });
  const counted = [
    { role: 'system', content: run.system },
    { role: 'user', content: run.acknowledgement === null ? null : instruction },
    { role: 'assistant', content: run.acknowledgement },
    { role: 'user', content: firstObservation },
  ] as const;
  return counted.flatMap(({ role, content }): readonly ChatMessage[] => (content === null ? [] : [{ role, content }]));
}

interface FaithfulJudging {
  readonly tree: SearchedTree;
  readonly verdicts: Verdicts;
  /** What the record holds of the tree, by judgement id. */
  readonly answers: ReadonlyMap<string, JudgeAnswer>;
  /** Null when it is not there: then nothing is planned in it. */
  readonly kind: EnvironmentKind | null;
  /** MAX_TOKEN_LENGTH of the published program; null for no limit. */
  readonly maxTokenLength: number | null;
  /** Reads text that lies in the blob store. */
  readonly resolve: (sha256: string) => Promise<string>;
  readonly signal: AbortSignal;
}

/**
 * Judges the bad trajectories of the pairs of a tree by the published rules, in the order of the pairs. The published program
 * walks a bad trajectory again for each good partner; the requests are the same, so they are sent once and the walk stands for
 * all. Null when the signal was aborted on the way.
 */
async function judgeFaithfully(
  work: FaithfulJudging,
  pairing: PublishedPairing,
): Promise<ReadonlyMap<string, PublishedJudging> | null> {
  const judged = new Map<string, PublishedJudging>();
  for (const { bad } of pairing.accepted) {
    if (judged.has(bad.leafStepId)) continue;
    const judging = await walk(work, bad);
    if (!judging) return null;
    judged.set(bad.leafStepId, judging);
  }
  return judged;
}

async function walk(work: FaithfulJudging, { steps, leafStepId }: LeafPath): Promise<PublishedJudging | null> {
  const { tree, verdicts, answers, kind, signal } = work;
  const probe = probePath(kind, tree, steps);
  const replies: string[] = [];
  try {
    for (;;) {
      if (signal.aborted) return null;
      const next = nextPublishedJudging(steps, tree.firstObservation, replies, work.maxTokenLength);
      if (next.kind === 'judged') return next.judging;
      const { index, slots } = next;
      const request = { steps, index, slots, planAround: () => probe.planAround(index) };
      const { reply } = await verdicts.of({ treeId: tree.treeId, runId: tree.runId, leafStepId, request }, answers, signal);
      replies.push(typeof reply === 'string' ? reply : await work.resolve(reply.blob));
    }
  } finally {
    await probe.close();
  }
}

/**
 * Puts a tree on the scale on which the published program compares: the environment's own. The record divides by the scale;
 * fifteen digits bring back what was divided (0.29 of 100 is 29, not 28.999999999999996), which strict thresholds need.
 */
function unscaled(tree: Tree<SearchedStep>, scale: number): Tree<SearchedStep> {
  if (scale === 1) return tree;
  const raw = (value: number) => Number((value * scale).toPrecision(15));
  return growTree(
    [...tree.nodes.values()].map(({ step }) => ({ ...step, score: raw(step.score), valueSum: raw(step.valueSum) })),
  );
}
