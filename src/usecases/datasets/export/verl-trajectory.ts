import { promptMessages } from '../../../domain/history/prompt.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import { componentRows, episodeColumns, versionColumns } from './verl-episode.ts';
import { type StepTokens, splitOwn, wholeTokens } from './verl-tokens.ts';

/**
 * Writes a trajectory as one row of `VERL_TRAJECTORIES`; null for one that took no step. @throws DatasetError `missing-tokens`.
 */
export function verlTrajectoryRow(trajectory: ExportTrajectory): Readonly<Record<string, unknown>> | null {
  const { head, root, rewards } = trajectory;
  const { context, own } = splitOwn(trajectory);
  if (own.length === 0) return null;
  const tokens = wholeTokens(trajectory, own);
  const starts = startsOf(tokens);
  return {
    ...episodeColumns(trajectory),
    raw_prompt: promptMessages({ instruction: head.instruction, firstObservation: root.observation, history: context }),
    responses: tokens.flatMap(({ ids }) => ids),
    response_mask: tokens.flatMap(({ mask }) => mask),
    rollout_log_probs: logProbsOf(tokens),
    step_indices: tokens.flatMap(({ ids }, step) => ids.map(() => step)),
    token_level_scores: scoresOf(trajectory, tokens, starts),
    rewards: componentRows(rewards),
    __num_turns__: own.length,
    ...versionColumns(
      own.flatMap(({ policySpans }, i) => shifted(policySpans, starts[i] ?? 0)),
      trajectory.rollout,
    ),
  };
}

/** Where in the row each step's tokens begin. */
function startsOf(tokens: readonly StepTokens[]): readonly number[] {
  let start = 0;
  return tokens.map(({ ids }) => {
    const own = start;
    start += ids.length;
    return own;
  });
}

/** Null when one step has none: a column with holes would pass for log-probabilities of 0. */
function logProbsOf(tokens: readonly StepTokens[]): readonly number[] | null {
  const all: number[] = [];
  for (const { logProbs } of tokens) {
    if (logProbs === null) return null;
    all.push(...logProbs);
  }
  return all;
}

/** Rewards on the steps of an earlier rollout are that rollout's: they are in the return, and on no token of this row. */
function scoresOf(trajectory: ExportTrajectory, tokens: readonly StepTokens[], starts: readonly number[]): readonly number[] {
  const { own } = splitOwn(trajectory);
  const scores = tokens.flatMap(({ ids }) => ids.map(() => 0));
  let last = 0;
  for (const [i, { rewards }] of own.entries()) {
    last = (starts[i] ?? 0) + (tokens[i]?.mask.lastIndexOf(1) ?? 0);
    scores[last] = (scores[last] ?? 0) + sumOf(rewards);
  }
  scores[last] = (scores[last] ?? 0) + sumOf(trajectory.rolloutRewards);
  return scores;
}

function sumOf(rewards: Readonly<Record<string, number>>): number {
  return Object.values(rewards).reduce((sum, value) => sum + value, 0);
}

function shifted<Span extends { readonly from: number; readonly to: number }>(
  spans: readonly Span[],
  by: number,
): readonly Span[] {
  return spans.map((span) => ({ ...span, from: span.from + by, to: span.to + by }));
}
