import { z } from 'zod';
import type { Opening } from '../environment.ts';
import { readRemote, resetRemote, type Server } from './remote.ts';

const GOAL_WITHIN = 16_384; // characters of an observation that a goal is looked for in; goals have at most 10,000

/**
 * Starts a task on a leased environment and returns its opening as an agent sees it. @throws EnvironmentError as `resetRemote`.
 */
export async function openTask(server: Server, id: number, task: number, mode?: 'alone'): Promise<Opening> {
  const { observation, actions } = await resetRemote(server, id, task, mode);
  const { descriptor } = server;
  const shown = shownText(server, observation, actions);
  const named = descriptor.openings === 'alike' ? `${shown}\nGame ${task}.` : shown;
  const words = descriptor.words && (await readRemote(server, id, descriptor.words, z.array(z.string())));
  const listed = words?.filter((word) => word !== '');
  return {
    instruction: descriptor.instruction,
    observation: listed ? `${named} The words are:\n${listed.join('\n')}` : named,
    goal: descriptor.goal.exec(observation.slice(0, GOAL_WITHIN))?.[1]?.trim() ?? observation,
    depth: null,
    split: null,
    admissibleActions: actions,
    stateHash: null,
  };
}

/**
 * Writes what the agent sees, by the conventions of AgentGym's clients (agent-r §4.2). Its ALFWorld client lists the actions
 * where it observes and leaves them out after a step, although the instruction says to choose from them; here they always stand
 * there.
 */
export function shownText({ descriptor }: Server, observation: string, actions: readonly string[] | null): string {
  if (descriptor.showActions === 'no' || actions === null) return observation;
  return `${observation}\nAVAILABLE ACTIONS: ${actions.join(',')}`;
}
