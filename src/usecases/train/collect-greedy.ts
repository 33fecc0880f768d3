import { derivedId } from '../../events/derived-id.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { readAwaitingGreedy } from '../../projections/training-pool/read-greedy-siblings.ts';
import { rest } from '../../runtime/retry.ts';
import { collectWithRetry } from '../collect/collect-with-retry.ts';
import type { CollectPlan } from '../collect/plan.ts';
import type { PlannedRun } from './train-begin.ts';

const LOOK_MS = 100; // a look is two statements over the open groups of the policy

/**
 * Collects the greedy rollouts that an estimator compares groups with (ReMax), until the signal: one of each task whose group is
 * closed, by the version that the group was collected with, in runs of the channel `baseline`. Strictly on-policy no version
 * comes between: its batch waits for these rollouts. The runs are named by the groups they serve: one that was killed goes on.
 */
export async function collectGreedy(
  platform: Platform,
  { policyId, run, concurrency, onFault, looks }: GreedyCollection,
  signal: AbortSignal,
): Promise<void> {
  const asked = new Set<string>(); // a group whose greedy rollout failed is not asked for again by this process
  while (!signal.aborted) {
    const look = ++looks.begun;
    const waiting = (await readAwaitingGreedy(platform.database.db, policyId)).filter(({ treeId }) => !asked.has(treeId));
    if (waiting.length === 0) looks.idle = look;
    else {
      const trees = waiting.map(({ treeId }) => treeId);
      await collectWithRetry(platform, {
        runId: derivedId('greedy run', policyId, ...trees),
        name: `greedy ${policyId}`,
        seed: run.seed,
        plan: planOf(run.plan, policyId, [...new Set(waiting.map(({ alias }) => alias))]),
        concurrency,
        signal,
        onFault,
      });
      for (const treeId of trees) asked.add(treeId);
    }
    await rest(LOOK_MS, signal);
  }
}

/** Ordinals of looks, from 1, for who waits until a look that began later finds nothing to do. */
export interface GreedyLooks {
  begun: number;
  idle: number;
}

export interface GreedyCollection {
  readonly policyId: string;
  /** The run that collects the groups. */
  readonly run: PlannedRun;
  readonly concurrency: number;
  readonly onFault: (error: unknown) => void;
  /** Counted on by the looks. */
  readonly looks: GreedyLooks;
}

function planOf(plan: CollectPlan, policyId: string, aliases: readonly string[]): CollectPlan {
  return {
    ...plan,
    temperature: 0,
    tasks: aliases.map((alias) => ({ alias, rollouts: 1, branching: 'root' as const })),
    training: { policyId, channel: 'baseline', mode: 'strict', maxStaleness: 0, untilVersion: null },
  };
}
