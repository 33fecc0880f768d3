import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import { type Environment, EnvironmentError, type EnvironmentKind, type Opening, type StepResult } from '../environment.ts';
import { defineEnvironment, wholeRest } from '../environment-entry.ts';
import { text } from '../option-kinds.ts';

const DIGITS = '0123456789';

/**
 * Rungs below the whole reward: without them a policy of random bytes would earn something once in 67,600 answers of two tokens.
 */
const KNOWN_CHARACTER = 0.1;
const RIGHT_BEGINNING = 0.5;

/**
 * The smallest world that a language model can learn: it shows one character, and the answer should be that character alone. One
 * step, a task for each character, nothing hidden. It shows that a trainer learns, not how well.
 */
export const echo = defineEnvironment({
  name: 'echo',
  summary: 'shows one character, and the answer should be that character: shows that a trainer learns',
  options: z.strictObject({
    characters: text('CHARACTERS', 'the characters; a task for each')
      .refine((given) => new Set(given).size > 1, 'names one character, which is learned by saying it; name two or more')
      .default(DIGITS),
  }),
  syntax: wholeRest('echo', 'characters', 'CHARACTERS'),
  open: async ({ characters }) => openEcho([...new Set(characters)]),
});

function openEcho(aliases: readonly string[]): EnvironmentKind {
  return {
    name: 'echo',
    fingerprint: sha256Hex(`echo/1 ${aliases.join('')}`),
    taskAliases: aliases,
    create: async () => createEcho(aliases),
    groundTruth: (alias) => (aliases.includes(alias) ? { groundTruth: alias, dataSource: 'echo' } : null),
    close: async () => undefined,
  };
}

function createEcho(aliases: readonly string[]): Environment {
  let shown: string | null = null;
  const now = (): string => {
    if (shown === null) throw new EnvironmentError('gone', 'the episode has ended or never began; reset it');
    return shown;
  };
  return {
    async reset({ alias }): Promise<Opening> {
      if (!aliases.includes(alias))
        throw new EnvironmentError(
          'unknown-task',
          `there is no task ${JSON.stringify(alias)} in this echo: name one of its characters by its number`,
        );
      shown = alias;
      return {
        instruction: 'Say the character, nothing else.',
        observation: alias,
        goal: `say ${alias}`,
        depth: 1,
        split: null,
        admissibleActions: aliases,
        stateHash: sha256Hex(alias),
      };
    },
    async step(action): Promise<StepResult> {
      const wanted = now();
      shown = null;
      const [first] = [...action];
      const success = action === wanted;
      const value = success ? 1 : first === wanted ? RIGHT_BEGINNING : aliases.includes(first ?? '') ? KNOWN_CHARACTER : 0;
      return {
        observation: success ? 'right' : 'wrong',
        reward: { value, raw: value, scale: 1, kind: 'final' },
        terminated: true,
        truncated: false,
        success,
        executable: true,
        admissibleActions: null,
        stateHash: null,
      };
    },
    parse: (response) => ({ thought: '', action: response.trim(), wellFormatted: response.trim() !== '' }),
    expertAction: async () => shown,
    planLength: async () => (shown === null ? null : 1),
    close: async () => undefined,
  };
}
