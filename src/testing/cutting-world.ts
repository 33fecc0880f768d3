import type { Environment, EnvironmentKind } from '../environments/environment.ts';

const LIMIT = 3;

/** A world that cuts every episode at its third step, by a limit of its own. */
export const environment = {
  name: 'cutting',
  open: async (): Promise<EnvironmentKind> => ({
    name: 'cutting',
    fingerprint: 'cutting, version 1',
    taskAliases: ['1'],
    create: async () => play(),
    close: async () => undefined,
  }),
};

const ACTIONS = ['go', 'stay'];

function play(): Environment {
  let steps = 0;
  return {
    async reset() {
      steps = 0;
      return {
        instruction: 'walk',
        observation: 'begin',
        goal: 'walk',
        depth: null,
        split: null,
        admissibleActions: ACTIONS,
        stateHash: null,
      };
    },
    async step() {
      steps++;
      return {
        observation: `step ${steps}`,
        reward: { value: 0, raw: 0, scale: 1, kind: 'delta' },
        terminated: false,
        truncated: steps === LIMIT,
        success: null,
        executable: true,
        admissibleActions: ACTIONS,
        stateHash: null,
      };
    },
    parse: (response) => ({ thought: '', action: response, wellFormatted: true }),
    close: async () => undefined,
  };
}
