import { groupBy } from '../group-by.ts';
import { type Bootstrap, bootstrapInterval, type Interval } from './bootstrap-interval.ts';

/** One rollout of an evaluation, from where it began to its end. */
export interface Episode {
  readonly taskId: string;
  readonly taskDepth: number | null;
  /** Null where nobody rewarded it. */
  readonly return: number | null;
  /** False also for an episode that failed or was cut off: nothing was achieved that anyone saw. */
  readonly success: boolean;
  readonly actions: readonly string[];
}

export interface Measures {
  readonly tasks: number;
  readonly episodes: number;
  /** Episodes that have a return: mean and interval are of these, null without one. */
  readonly rewarded: number;
  readonly meanReturn: number | null;
  readonly returnInterval: Interval | null;
  readonly successRate: number;
  readonly successInterval: Interval;
  readonly meanSteps: number;
  readonly repeatedActions: readonly { readonly length: number; readonly perEpisode: number }[];
  readonly byDepth: readonly { readonly taskDepth: number | null; readonly episodes: number; readonly successes: number }[];
}

/** The lengths of sequences that the loop metric is reported for. */
const REPEATED_LENGTHS = [1, 2, 3, 4] as const;

/**
 * Measures the episodes of an evaluation (specification of Agent-R, §3.3): means, seeded intervals over the tasks, loops, success
 * by depth. The same episodes give the same numbers in any order of the list. @throws RangeError without an episode.
 */
export function measureEpisodes(given: readonly Episode[], bootstrap: Bootstrap): Measures {
  const episodes = [...given].sort(byContent);
  const tasks = [...groupBy(episodes, ({ taskId }) => taskId).values()];
  const returns = tasks.map((group) => group.flatMap((episode) => episode.return ?? []));
  const rewarded = returns.flat();
  const successes = tasks.map((group) => group.map(({ success }) => (success ? 1 : 0)));
  const successInterval = bootstrapInterval(successes, bootstrap); // refuses what is empty, before anything is divided
  const depths = [...groupBy(episodes, ({ taskDepth }) => taskDepth)].sort(
    ([a], [b]) => (a ?? Number.POSITIVE_INFINITY) - (b ?? Number.POSITIVE_INFINITY),
  );
  return {
    tasks: tasks.length,
    episodes: episodes.length,
    rewarded: rewarded.length,
    meanReturn: rewarded.length === 0 ? null : mean(rewarded),
    returnInterval: rewarded.length === 0 ? null : bootstrapInterval(returns, bootstrap),
    successRate: mean(successes.flat()),
    successInterval,
    meanSteps: mean(episodes.map(({ actions }) => actions.length)),
    repeatedActions: REPEATED_LENGTHS.map((length) => ({
      length,
      perEpisode: mean(episodes.map(({ actions }) => countRepeatedActions(actions, length))),
    })),
    byDepth: depths.map(([taskDepth, group]) => ({
      taskDepth,
      episodes: group.length,
      successes: group.filter(({ success }) => success).length,
    })),
  };
}

/** Episodes have no order of their own, and a sum of floating-point numbers has: equal episodes are to give equal bits. */
function byContent(a: Episode, b: Episode): number {
  if (a.taskId !== b.taskId) return a.taskId < b.taskId ? -1 : 1;
  const [left, right] = [a.return ?? Number.POSITIVE_INFINITY, b.return ?? Number.POSITIVE_INFINITY];
  if (left !== right) return left < right ? -1 : 1;
  return Number(a.success) - Number(b.success);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Counts how often sequences of `length` actions are repeated on the spot: of every loop, all of its rounds. A pair of actions
 * done five times in a row counts 5 at length 2 (the one example of Agent-R's paper; specification, §3.3). A loop counts at its
 * shortest length only: one action ten times is no pair five times. @throws RangeError unless length is a positive integer.
 */
export function countRepeatedActions(actions: readonly string[], length: number): number {
  if (!Number.isInteger(length) || length < 1) throw new RangeError(`a sequence has 1 or more actions, not ${length}`);
  let count = 0;
  for (let at = 0; at + 2 * length <= actions.length; ) {
    const rounds = roundsAt(actions, at, length);
    if (rounds < 2 || isLoop(actions.slice(at, at + length))) {
      at++;
      continue;
    }
    count += rounds;
    at += rounds * length;
  }
  return count;
}

function roundsAt(actions: readonly string[], at: number, length: number): number {
  let matched = 0;
  while (at + length + matched < actions.length && actions[at + length + matched] === actions[at + matched]) matched++;
  return 1 + Math.floor(matched / length);
}

/** Returns whether a sequence is itself rounds of a shorter one. */
function isLoop(sequence: readonly string[]): boolean {
  for (let period = 1; period <= sequence.length / 2; period++) {
    if (sequence.length % period === 0 && roundsAt(sequence, 0, period) === sequence.length / period) return true;
  }
  return false;
}
