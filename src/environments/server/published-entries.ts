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
    hints: oneOf(
      ['valid', 'none'],
      'whether each step lists what is possible, which takes longer than the step; else it is asked where a policy chooses from it',
    ).default('valid'),
    timeout,
  }),
  open: openPublished('scienceworld'),
});

export const alfWorld = defineEnvironment({
  name: 'alfworld',
  summary: 'six kinds of household tasks in text, from the package alfworld, in games that are made here or in those of a folder',
  options: z.strictObject({
    games: whole(1, 10_000, 'games that are made for each kind of task and split').default(100),
    kinds: listOf('KIND', 'kinds of tasks, such as pick_and_place_simple; all six when left out').optional(),
    splits: listOf('SPLIT', 'train, valid_seen, valid_unseen; all when left out').optional(),
    folder: text('DIR', 'games as ALFWorld keeps them (json_2.1.1), in place of those that are made').optional(),
    limit: whole(1, 10_000, 'actions after which an episode is truncated').default(50),
    timeout,
  }),
  open: openPublished('alfworld'),
});
