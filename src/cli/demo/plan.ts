import { chooseTasks } from '../../collect/choose-tasks.ts';
import type { CollectPlan } from '../../collect/plan.ts';
import { SEARCH_DEFAULTS } from '../../domain/search/next-search-step.ts';
import { openEnvironment } from '../../environments/open-environment.ts';

export interface DemoSize {
  readonly tasks: number;
  readonly rollouts: number;
  /** Rollouts of the one deep tree, each starting somewhere in what the others reached. */
  readonly deepRollouts: number;
  readonly policy: string;
}

/** Plans the demo: groups of rollouts over tasks of every depth, and one deep tree. */
export async function planDemo(size: DemoSize): Promise<CollectPlan> {
  const kind = await openEnvironment('textcraft');
  try {
    const chosen = await chooseTasks(kind, size.tasks, 0);
    // A task in reach of an untrained policy: its tree shows branches that succeed beside branches that do not.
    const deep = chosen.findLast(({ depth }) => depth === 2) ?? chosen[0];
    if (!deep) throw new Error('TextCraft has no tasks');
    return {
      environment: 'textcraft',
      tasks: [
        ...chosen.map(({ alias }) => ({ alias, rollouts: size.rollouts, branching: 'root' as const })),
        { alias: deep.alias, rollouts: size.deepRollouts, branching: 'anywhere' },
      ],
      taskSeed: 0,
      policy: size.policy,
      temperature: 1,
      maxSteps: 30,
      search: null,
    };
  } finally {
    await kind.close();
  }
}

/** Plans the search of one task by Monte-Carlo tree search: small enough to be drawn, large enough for good and bad trajectories. */
export function planDemoSearch(plan: CollectPlan): CollectPlan {
  const deep = plan.tasks.at(-1);
  if (!deep) throw new RangeError('a plan has tasks');
  const iterations = 4;
  return {
    ...plan,
    tasks: [{ alias: deep.alias, rollouts: iterations, branching: 'root' }],
    search: { iterations, candidates: 2, maxDepth: 8, exploration: SEARCH_DEFAULTS.exploration },
  };
}
