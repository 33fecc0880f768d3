import type { SearchedStep } from '../../domain/search/searched-step.ts';
import type { Environment, EnvironmentKind } from '../../environments/environment.ts';
import { resetAsRecorded } from '../../environments/reset-as-recorded.ts';
import { sameObservation } from '../../environments/same-observation.ts';
import type { PlanAround } from '../../policies/judge.ts';
import type { SearchedTree } from '../../projections/revisions/read-searched-trees.ts';

/**
 * Walks a recorded trajectory in a fresh environment, as far as it is asked, and returns how far the goal is around its steps.
 */
export interface PathProbe {
  /**
   * Plans before and after the step at `index`; null where the environment does not plan, or did not repeat what was recorded.
   */
  planAround(index: number): Promise<PlanAround | null>;
  close(): Promise<void>;
}

/** Opens a probe; the environment is made when it is first asked. Steps are asked for in their order, each at most once. */
export function probePath(kind: EnvironmentKind | null, tree: SearchedTree, steps: readonly SearchedStep[]): PathProbe {
  let environment: Environment | null = null;
  let taken = 0;
  let faithful = true;

  async function advance(to: number): Promise<boolean> {
    if (!environment && kind) {
      environment = await kind.create();
      const task = { alias: tree.alias, seed: tree.seed };
      const pictures = tree.pictures.get(tree.tree.root.step.stepId) ?? [];
      faithful = (await resetAsRecorded(environment, task, tree.firstObservation, pictures)).kind === 'same';
    }
    while (environment && faithful && taken < to) await take(environment);
    return environment !== null && faithful;
  }

  async function take(at: Environment) {
    const step = steps[taken++];
    if (!step) throw new RangeError(`the trajectory has no step ${taken - 1}`);
    const result = await at.step(step.action);
    faithful = sameObservation(result, { observation: step.observation, pictures: tree.pictures.get(step.stepId) ?? [] });
    return result;
  }

  return {
    async planAround(index) {
      if (!(await advance(index)) || !environment?.planLength) return null;
      const before = await environment.planLength();
      const result = await take(environment);
      if (!faithful) return null;
      const reached = result.terminated && result.success === true;
      return { before, after: reached ? 0 : await environment.planLength(), executable: result.executable };
    },
    close: async () => environment?.close(),
  };
}
