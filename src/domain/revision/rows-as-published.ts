import type { SearchedTree } from '../search/published-tree.ts';
import type { PublishedJudging } from './judge-as-published.ts';
import type { LeafPath } from './leaf-paths.ts';
import type { PublishedPairing } from './pair-as-published.ts';
import { goodRow, type PublishedGoodRow, type PublishedPairRow, pairRow } from './published-rows.ts';
import { REFLECTIONS } from './reflections.ts';
import { spliceAsPublished } from './splice.ts';

/** The published `--data_type`: rows of pairs, or of good trajectories. */
export type PublishedDataType = 'centric' | 'good';

export interface PublishedRows extends Pick<SearchedTree, 'opening'> {
  /** The environment's number of the task. */
  readonly taskNum: string;
  readonly pairing: PublishedPairing;
  readonly dataType: PublishedDataType;
  /** The published `--revise`; good rows only repeat it. */
  readonly revise: boolean;
  /** How a bad trajectory was judged; asked only for pairs that are revised. */
  readonly judgingOf: (bad: LeafPath) => PublishedJudging;
}

/**
 * Makes the rows of one tree as the published program writes them (specification of Agent-R, §2.5–2.7), in its order: `low_log`
 * is trained on, a step rejected before the branch makes the shared steps stand twice. The sentence of a reflection is ours at
 * the index that the program draws.
 */
export function* rowsAsPublished(rows: PublishedRows): Generator<PublishedPairRow | PublishedGoodRow> {
  const { taskNum, opening, pairing, revise } = rows;
  if (rows.dataType === 'good') {
    for (const { steps } of pairing.good) yield goodRow(taskNum, opening, steps, revise);
    return;
  }
  for (const { good, bad, reflection } of pairing.accepted) {
    const judging = revise ? rows.judgingOf(bad) : null;
    const kept = bad.steps.slice(0, judging?.kept ?? bad.steps.length);
    const turns = spliceAsPublished(kept, good.steps, REFLECTIONS[reflection] ?? '');
    const steps = { good: good.steps, bad: bad.steps };
    yield pairRow({ taskNum, opening, turns, ...steps, feedback: judging?.feedback ?? null, lowLog: 'trained' });
  }
}
