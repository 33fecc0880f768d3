import type { Environment, EnvironmentKind } from '../environments/environment.ts';

const TURNS = 3;

/**
 * A world for models of random weights: three turns, and the reward is the share of digits in all that was said. Its texts have
 * no blank, so that a tiny tokenizer needs none.
 */
export const environment = {
  name: 'say-digits',
  open: async (): Promise<EnvironmentKind> => ({
    name: 'say-digits',
    fingerprint: 'say digits, version 1',
    taskAliases: ['1', '2', '3', '4'],
    create: async () => play(),
    close: async () => undefined,
  }),
};

function play(): Environment {
  let said: string[] = [];
  return {
    async reset({ alias }) {
      said = [];
      return {
        instruction: 'digits',
        observation: `begin${alias}`,
        goal: 'say digits',
        depth: TURNS,
        split: null,
        admissibleActions: null,
        stateHash: null,
      };
    },
    async step(action) {
      said.push(action);
      const terminated = said.length === TURNS;
      const all = said.join('');
      const value = terminated && all !== '' ? [...all].filter((sign) => /\d/.test(sign)).length / all.length : 0;
      return {
        observation: `more${said.length}`,
        reward: { value, raw: value, scale: 1, kind: 'final' },
        terminated,
        truncated: false,
        success: terminated ? value > 0.5 : null,
        executable: true,
        admissibleActions: null,
        stateHash: null,
      };
    },
    parse: (response) => ({ thought: '', action: response, wellFormatted: response !== '' }),
    close: async () => undefined,
  };
}
