import type { EnvironmentKind } from '../../environments/environment.ts';
import { resetAsRecorded } from '../../environments/reset-as-recorded.ts';
import { chooseCandidate } from './choose-candidate.ts';
import type { ClonedAction } from './clone-behaviour.ts';
import { type ReleasedChat, ReleaseUnreadable } from './released-chats.ts';

export type SpelledAction = Omit<ClonedAction, 'weight'>;

/**
 * Executes a released example from its start, and returns for each action with loss where it was chosen and among what: the
 * candidates stand in no file. Every observation must be the released one. Actions that are no candidate are left out.
 * @param seed what the task is reset with. @throws ReleaseUnreadable when the environment answers something else.
 */
export async function spellActions(kind: EnvironmentKind, chat: ReleasedChat, seed: number): Promise<readonly SpelledAction[]> {
  const environment = await kind.create();
  try {
    const { opening } = await resetAsRecorded(environment, { alias: chat.alias, seed }, chat.firstObservation);
    refuseOther(chat, 0, chat.firstObservation, opening.observation);
    const history: { action: string; observation: string }[] = [];
    const actions: SpelledAction[] = [];
    let candidates = opening.admissibleActions ?? [];
    for (const [index, { response, observation, loss }] of chat.turns.entries()) {
      const { action } = environment.parse(response);
      const situation = { goal: opening.goal, firstObservation: opening.observation, history: [...history] };
      const chosen = loss ? chooseCandidate(candidates, action) : null;
      if (chosen !== null) actions.push({ situation, candidates, chosen });
      if (observation === null) break; // nothing follows the last reply
      const result = await environment.step(action);
      refuseOther(chat, index + 1, observation, result.observation);
      history.push({ action, observation: result.observation });
      candidates = result.admissibleActions ?? [];
    }
    return actions;
  } finally {
    await environment.close();
  }
}

function refuseOther({ line, alias }: ReleasedChat, turn: number, released: string, seen: string): void {
  if (released === seen) return;
  throw new ReleaseUnreadable(
    `line ${line}, task ${alias}: after reply ${turn} the environment answers ${JSON.stringify(seen.slice(0, 200))}, not what was released; train where the data was collected`,
  );
}
