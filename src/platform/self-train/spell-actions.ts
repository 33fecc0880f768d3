import type { EnvironmentKind } from '../../environments/environment.ts';
import type { SearchedTree } from '../../projections/revisions/read-searched-trees.ts';
import { chooseCandidate } from '../../training/choose-candidate.ts';
import type { ClonedAction } from '../../training/clone-behaviour.ts';

/** A reply of a trajectory, and whether it is to be learnt from. */
export interface SpelledTurn {
  readonly response: string;
  readonly loss: boolean;
}

export interface Spelled {
  readonly actions: readonly Omit<ClonedAction, 'weight'>[];
  /** The reward that the trajectory really reached. */
  readonly reached: number;
}

/**
 * Executes a trajectory from its start, and tells of each action with loss where it was chosen and among what. The execution is what makes a splice
 * honest: what the agent holds after the bad steps decides which actions there are, and the spliced observations do not know it.
 * Actions that are no candidate are left out. Null when an action was not understood, or could not be done, after the turn where the loss begins.
 */
export async function spellActions(
  kind: EnvironmentKind,
  tree: Pick<SearchedTree, 'alias' | 'seed'>,
  turns: readonly SpelledTurn[],
): Promise<Spelled | null> {
  const environment = await kind.create();
  try {
    const opening = await environment.reset({ alias: tree.alias, seed: tree.seed });
    const history: { action: string; observation: string }[] = [];
    const actions: Omit<ClonedAction, 'weight'>[] = [];
    let candidates = opening.admissibleActions ?? [];
    let reached = 0;
    for (const { response, loss } of turns) {
      const { action } = environment.parse(response);
      const situation = { goal: opening.goal, firstObservation: opening.observation, history: [...history] };
      const chosen = chooseCandidate(candidates, action);
      const result = await environment.step(action);
      if (loss && !result.executable) return null;
      if (loss && chosen !== null) actions.push({ situation, candidates, chosen });
      history.push({ action, observation: result.observation });
      candidates = result.admissibleActions ?? [];
      reached = result.reward.value;
      if (result.terminated) break;
    }
    return { actions, reached };
  } finally {
    await environment.close();
  }
}
