import { isJsonObject, type Json } from '../tools/read-python-json.ts';

/** An episode as scorers see it: what was asked, what was said, and what would have been right. */
export interface ScoredEpisode {
  readonly question: string;
  /** The data set that the task is from, as verl's rows name it. */
  readonly dataSource: string;
  /** The whole episode as one text in ChatML, from the assistant's first turn on, results of tools included. */
  readonly chat: string;
  /** What the model said, turn by turn. */
  readonly responses: readonly string[];
  /** The content of the last `<answer>` of the last response, null without one. */
  readonly answer: string | null;
  readonly groundTruth: Json;
  /** The ground truth as texts that count as right. */
  readonly golds: readonly string[];
  /** Steps whose action the environment could not execute. */
  readonly invalidActions: number;
  /** What the environment itself gave, its word on success included; null where it has none. */
  readonly environmentScore: number | null;
  readonly success: boolean | null;
}

/**
 * What a scorer returns: the reward, whether the task was done (null where it cannot decide), and what the reward was made of.
 */
export interface Score {
  readonly value: number;
  readonly success: boolean | null;
  readonly parts: Readonly<Record<string, number>>;
}

/**
 * Takes the texts that count as right out of a ground truth: a text, a number, a list of them, or one of these as `target` or
 * `answers`.
 */
export function goldsOf(groundTruth: Json): readonly string[] {
  if (typeof groundTruth === 'string') return [groundTruth];
  if (typeof groundTruth === 'number') return [String(groundTruth)];
  if (Array.isArray(groundTruth)) return groundTruth.flatMap((each: Json) => (Array.isArray(each) ? [] : goldsOf(each)));
  if (isJsonObject(groundTruth)) return goldsOf(groundTruth.target ?? groundTruth.answers ?? null);
  return [];
}
