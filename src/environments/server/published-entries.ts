import { z } from 'zod';
import { defineEnvironment } from '../environment-entry.ts';
import { listOf, oneOf, text, whole } from '../option-kinds.ts';
import { openPython } from './open-python.ts';

// Environments that others publish on PyPI, in a process of the Python that has their packages: ESPALIER_WORLDS_PYTHON. What an
// option means is decided there, in python/espalier_rl/environments.

const timeout = whole(1, 999_999, 'the limit for one request, in seconds').default(300);

/** Opens one with the options that were given, as they were written. */
function openPublished(name: string) {
  return (given: { readonly timeout: number } & Readonly<Record<string, unknown>>) => {
    const options = Object.entries(given).filter(([key]) => key !== 'timeout' && key !== 'environment');
    return openPython(given.timeout, 'serve-published', name, ...options.map(([key, value]) => `${key}=${value}`));
  };
}

export const scienceWorld = defineEnvironment({
  name: 'scienceworld',
  summary: 'experiments in a house with a laboratory, from the package scienceworld, which needs Java',
  options: z.strictObject({
    kinds: listOf('KIND', 'kinds of experiments, such as boil; all 30 when left out').optional(),
    simplifications: text('NAME,…', 'those of the simulator, such as easy or teleportAction').optional(),
    limit: whole(1, 10_000, 'actions after which an episode is truncated').default(100),
    hints: oneOf(['valid', 'none'], 'whether each step lists what is possible, which takes longer than the step').default(
      'valid',
    ),
    timeout,
  }),
  open: openPublished('scienceworld'),
});

export const babyAi = defineEnvironment({
  name: 'babyai',
  summary: 'instructions in rooms of a grid, from the package minigrid, in the words of AgentGym',
  options: z.strictObject({
    levels: listOf('LEVEL', 'levels, such as GoToDoor; the 40 of AgentGym when left out').optional(),
    seeds: whole(1, 25_000, 'worlds of each level').default(1_000),
    limit: whole(1, 10_000, 'actions after which an episode is truncated').default(64),
    timeout,
  }),
  open: openPublished('babyai'),
});
