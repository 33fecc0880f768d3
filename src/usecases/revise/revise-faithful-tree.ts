import { nextPublishedJudging, type PublishedJudging } from '../../domain/revision/judge-as-published.ts';
import type { LeafPath } from '../../domain/revision/leaf-paths.ts';
import type { PublishedPairing } from '../../domain/revision/pair-as-published.ts';
import type { SearchedStep } from '../../domain/search/searched-step.ts';
import { growTree, type Tree } from '../../domain/tree/grow-tree.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import type { SearchedTree } from '../../projections/revisions/read-searched-trees.ts';
import { probePath } from './revise-path.ts';
import type { JudgeAnswer, Verdicts } from './revise-verdicts.ts';

export interface FaithfulJudging {
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
export async function judgeFaithfully(
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
export function unscaled(tree: Tree<SearchedStep>, scale: number): Tree<SearchedStep> {
  if (scale === 1) return tree;
  const raw = (value: number) => Number((value * scale).toPrecision(15));
  return growTree(
    [...tree.nodes.values()].map(({ step }) => ({ ...step, score: raw(step.score), valueSum: raw(step.valueSum) })),
  );
}
