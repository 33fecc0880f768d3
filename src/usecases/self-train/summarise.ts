import { BOOTSTRAP_DEFAULTS, bootstrapInterval, type Interval } from '../../domain/evaluation/bootstrap-interval.ts';
import type { Method } from './plan.ts';
import type { IterationResult } from './self-train.ts';

/** What a method had achieved after an iteration, over its seeds. */
export interface Summary {
  readonly method: Method;
  readonly iteration: number;
  readonly seeds: number;
  readonly success: number;
  /**
   * Over the seeds: how much another repetition may differ on these test tasks. What other tasks would say is in each
   * evaluation's own.
   */
  readonly interval: Interval;
  readonly meanSteps: number;
  /** Actions repeated at once, per episode. */
  readonly repeats: number;
  /** Good trajectories and revisions trained on in that iteration, per seed. */
  readonly good: number;
  readonly revisions: number;
}

/** Sums results up by method and iteration, in the order in which they first stand. */
export function summarise(results: readonly IterationResult[]): readonly Summary[] {
  const groups = new Map<string, IterationResult[]>();
  for (const result of results) {
    const key = `${result.method} ${result.iteration}`;
    groups.set(key, [...(groups.get(key) ?? []), result]);
  }
  return [...groups.values()].flatMap((group): Summary[] => {
    const first = group[0];
    if (!first) return [];
    const mean = (of: (result: IterationResult) => number) => group.reduce((sum, result) => sum + of(result), 0) / group.length;
    const rates = group.map(({ evaluation }) => [evaluation.successRate]);
    return [
      {
        method: first.method,
        iteration: first.iteration,
        seeds: group.length,
        success: mean(({ evaluation }) => evaluation.successRate),
        interval: bootstrapInterval(rates, { ...BOOTSTRAP_DEFAULTS, seed: 1 }),
        meanSteps: mean(({ evaluation }) => evaluation.meanSteps),
        repeats: mean(({ evaluation }) => evaluation.repeatedActions.find(({ length }) => length === 1)?.perEpisode ?? 0),
        good: mean(({ evaluation }) => evaluation.trained?.good ?? 0),
        revisions: mean(({ evaluation }) => evaluation.trained?.revisions ?? 0),
      },
    ];
  });
}
