import { COMPRESSION_PRESETS } from '../../domain/compression/factor-reward.ts';
import { TEMPLATE_VERSIONS } from '../../domain/prompts/compose-prompt.ts';
import { SEARCH_DEFAULTS } from '../../domain/search/next-search-step.ts';
import { openEnvironment } from '../../environments/open-environment.ts';
import { chooseTasks } from '../../usecases/collect/choose-tasks.ts';
import type { CollectPlan } from '../../usecases/collect/plan.ts';

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
    const tasks = await chooseTasks(kind, size.tasks, 0);
    // A task in reach of an untrained policy: its tree shows branches that succeed next to branches that do not.
    const deep = tasks.findLast(({ depth }) => depth === 2) ?? tasks[0];
    if (!deep) throw new Error('TextCraft has no tasks');
    return {
      environment: 'textcraft',
      tasks: [
        ...tasks.map(({ alias }) => ({ alias, rollouts: size.rollouts, branching: 'root' as const })),
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

/**
 * Plans a run in image mode: one question of the search world, its history drawn, the factor of each image asked for by the step
 * before.
 */
export async function planDemoImages(): Promise<CollectPlan> {
  const kind = await openEnvironment('search-qa');
  try {
    const tasks = await chooseTasks(kind, 3, 0);
    const deep = tasks.findLast(({ depth }) => depth === 3) ?? tasks[0];
    if (!deep) throw new Error('the search world has no questions');
    const { lambda, mu } = COMPRESSION_PRESETS.paper;
    return {
      environment: 'search-qa',
      tasks: [{ alias: deep.alias, rollouts: 4, branching: 'root' }],
      taskSeed: 0,
      policy: 'planner',
      temperature: 1,
      maxSteps: 8,
      search: null,
      prompt: {
        template: { name: 'search-qa', version: TEMPLATE_VERSIONS['search-qa'] },
        mode: 'image',
        historyLength: 50,
        image: { profile: 'crisp', vision: 'qwen2.5-vl', emptyHistory: 'no-image' },
        compression: { candidateFactor: 1.2, reward: 'tokens-saved', lambda, mu, every: 1, iteration: 1 },
        invalidPenalty: 0,
      },
    };
  } finally {
    await kind.close();
  }
}

/**
 * Plans the search of one task by Monte-Carlo tree search: small enough to be drawn, large enough for good and bad trajectories.
 */
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
