import {
  type Amount,
  createEvidence,
  type Demand,
  demandOf,
  findItem,
  inventoryOf,
  parseCraft,
  parseGet,
  type Recipe,
} from './recipe-demand.ts';
import type { Situation } from './situation.ts';
import { crossHash, hashText, wordsOf } from './words.ts';

/** Raised whenever the same text yields other features: weights of one revision mean nothing in another. */
export const FEATURE_REVISION = 2;

/**
 * Buckets of the hashed feature space; a power of two. 2^14 doubles are 128 KiB, and TextCraft's ~10^4 distinct features collide
 * little.
 */
export const FEATURE_BUCKETS = 2 ** 14;

/** A sparse feature vector; an index may occur twice, its values then add up. */
export interface FeatureVector {
  readonly indices: Int32Array;
  readonly values: Float64Array;
}

/**
 * Describes each candidate action in a situation as a sparse vector φ(situation, action) in 2^14 dimensions (signed feature
 * hashing, Weinberger et al. 2009: bucket = low 14 bits of the feature's hash, sign = its top bit). Blocks, each scaled to unit
 * length where it has many members, so that long texts do not drown short ones:
 * 1. the action: its verb, its words, pairs of neighbouring words;
 * 2. crosses of goal words × action words, and of words of the last observation × action words;
 * 3. memory: the whole action crossed with the goal, with the action before, with both, and with the number of steps taken;
 * 4. overlap: the share of the action's words that occur in the goal and in the last observation, how often it was taken already
 *    and
 *    whether that failed, each crossed with the verb;
 * 5. recipes (see recipe-demand.ts): whether what the action yields is missing, at which hop, enough of it, and whether its
 *    inputs are held;
 * 6. evidence (see search-evidence.ts): where the name that is searched or answered occurs, for which hop, and whether it is
 *    linked.
 */
export function candidateFeatures(situation: Situation, candidates: readonly string[]): FeatureVector[] {
  const view = viewOf(situation);
  const evidence = createEvidence(situation);
  const known = knownOf(situation.goal);
  return candidates.map((action) => describe(view, knownAction(view, known, action), action, evidence(action)).vector());
}

/** Scores each candidate, θ·φ, in the order in which its features are added up: no vector is kept. */
export function candidateScores(weights: Float64Array, situation: Situation, candidates: readonly string[]): number[] {
  const view = viewOf(situation);
  const evidence = createEvidence(situation);
  const known = knownOf(situation.goal);
  return candidates.map((action) => describe(view, knownAction(view, known, action), action, evidence(action)).score(weights));
}

interface View {
  readonly goal: number;
  readonly goalWords: readonly number[];
  readonly stateWords: readonly number[];
  readonly lastAction: number;
  readonly steps: number;
  readonly failed: boolean;
  readonly lastActionText: string;
  readonly taken: ReadonlyMap<string, number>;
  readonly demand: Demand;
}

const hashes = (words: readonly string[]): number[] => words.map(hashText);
const distinct = (words: readonly string[]): string[] => [...new Set(words)];

function viewOf(situation: Situation): View {
  const last = situation.history.at(-1);
  const taken = new Map<string, number>();
  for (const { action } of situation.history) taken.set(action, (taken.get(action) ?? 0) + 1);
  return {
    goal: hashText(situation.goal),
    goalWords: hashes(distinct(wordsOf(situation.goal, 24))),
    stateWords: hashes(distinct(wordsOf(last?.observation ?? situation.firstObservation, 32))),
    lastAction: hashText(last?.action ?? ''),
    steps: Math.min(situation.history.length, 15),
    failed:
      last !== undefined && /^(?:could not|can't|cannot|wrong|invalid|unknown|error|nothing happen)/i.test(last.observation),
    lastActionText: last?.action ?? '',
    taken,
    demand: demandOf(situation),
  };
}

/** What of an action does not depend on the state: its hashes, and the features that are added first. */
interface KnownAction {
  readonly wordHashes: readonly number[];
  readonly verb: number;
  readonly whole: number;
  readonly first: FeatureVector;
  readonly craft: Recipe | null;
  readonly yields: Amount | null;
}

/** The actions of the goals that were asked for last: most candidates of a state are those of the state before. */
const knownByGoal = new Map<string, Map<string, KnownAction>>();
const MOST_GOALS = 8;
const MOST_ACTIONS = 512; // 1 KB each in TextCraft, up to 8 KB where goals and actions are long
const MOST_LETTERS = 1_000; // of a goal or an action that is kept

function knownOf(goal: string): Map<string, KnownAction> {
  const known = knownByGoal.get(goal) ?? new Map<string, KnownAction>();
  knownByGoal.delete(goal);
  if (goal.length <= MOST_LETTERS) knownByGoal.set(goal, known); // behind all others
  for (const oldest of knownByGoal.keys()) {
    if (knownByGoal.size <= MOST_GOALS) break;
    knownByGoal.delete(oldest);
  }
  return known;
}

function knownAction(view: View, known: Map<string, KnownAction>, action: string): KnownAction {
  const before = known.get(action);
  if (before) return before;
  const wordHashes = hashes(wordsOf(action, 24));
  const verb = wordHashes[0] ?? 0;
  const sink = scratch.emptied();
  sink.add(NAMES.verb, verb, 1);
  const unit = 1 / Math.sqrt(Math.max(1, wordHashes.length));
  for (const [i, word] of wordHashes.entries()) {
    sink.add(NAMES.word, word, unit);
    sink.add(NAMES.pair, crossHash(word, wordHashes[i + 1] ?? 0), unit);
  }
  crosses(sink, NAMES.goalWord, view.goalWords, wordHashes);
  const craft = parseCraft(action);
  const made = {
    wordHashes,
    verb,
    whole: hashText(action),
    first: sink.vector(),
    craft,
    yields: craft?.output ?? parseGet(action),
  };
  if (action.length > MOST_LETTERS) return made;
  if (known.size >= MOST_ACTIONS) known.clear();
  known.set(action, made);
  return made;
}

/** Returns the features of an action, which hold until the next one is described. */
function describe(view: View, known: KnownAction, action: string, found: string | null): Sink {
  const { wordHashes, verb, whole, first } = known;
  const sink = scratch.emptied();
  sink.addAll(first);
  crosses(sink, NAMES.stateWord, view.stateWords, wordHashes);

  sink.add(NAMES.goal, crossHash(view.goal, whole), 1);
  sink.add(NAMES.lastAction, crossHash(view.lastAction, whole), 1);
  sink.add(NAMES.goalLastAction, crossHash(crossHash(view.goal, view.lastAction), whole), 1);
  sink.add(NAMES.goalSteps, crossHash(crossHash(view.goal, view.steps), whole), 1);

  const taken = Math.min(view.taken.get(action) ?? 0, 3);
  sink.add(NAMES.taken, crossHash(verb, taken), 1);
  if (view.failed && view.lastActionText === action) sink.add(NAMES.failedAgain, 0, 1);
  sink.add(NAMES.goalShare, verb, share(wordHashes, view.goalWords));
  sink.add(NAMES.stateShare, verb, share(wordHashes, view.stateWords));

  relations(sink, view.demand, known);
  // Twice the size of the other blocks: in the search world one relation decides, and it must count against all words.
  if (found !== null) sink.add(NAMES.evidence, hashText(found), 2);
  return sink;
}

/** Block 5. Every relation is added alone and in one conjunction of all, so that a few updates on one task teach the others. */
function relations(sink: Sink, demand: Demand, { craft, yields, verb }: KnownAction): void {
  if (demand.missing.size === 0) return;
  const missing = yields ? findItem(demand.missing, yields.item) : undefined;
  const hop = missing ? Math.min(missing.hop, 5) : 6;
  const inputs = !craft
    ? 'none'
    : craft.inputs.every((input) => inventoryOf(demand.held, input.item) >= input.count)
      ? 'held'
      : 'lacking';
  const wanted = craft ? craft.inputs.every((input) => demand.missing.has(input.item)) : false;
  const amount =
    !missing || !yields ? 'unasked' : yields.count < missing.count ? 'part' : yields.count === missing.count ? 'all' : 'more';
  sink.add(NAMES.hop, crossHash(verb, hop), 1);
  sink.add(NAMES.inputs, crossHash(verb, hashText(inputs)), 1);
  sink.add(NAMES.amount, crossHash(verb, hashText(amount)), 1);
  sink.add(NAMES.relation, crossHash(verb, hashText(`${missing ? 'missing' : 'idle'}|${inputs}|${amount}|${wanted}`)), 1);
}

function crosses(sink: Sink, name: number, left: readonly number[], right: readonly number[]): void {
  const unit = 1 / Math.sqrt(Math.max(1, left.length * right.length));
  for (let i = 0; i < left.length; i++) {
    for (let j = 0; j < right.length; j++) sink.add(name, crossHash(left[i] as number, right[j] as number), unit); // below lengths
  }
}

function share(words: readonly number[], among: readonly number[]): number {
  if (words.length === 0) return 0;
  return words.filter((word) => among.includes(word)).length / words.length;
}

const name = (text: string): number => hashText(`feature:${text}`);
const NAMES = {
  verb: name('verb'),
  word: name('word'),
  pair: name('pair'),
  goalWord: name('goal-word'),
  stateWord: name('state-word'),
  goal: name('goal'),
  lastAction: name('last-action'),
  goalLastAction: name('goal-last-action'),
  goalSteps: name('goal-steps'),
  taken: name('taken'),
  failedAgain: name('failed-again'),
  goalShare: name('goal-share'),
  stateShare: name('state-share'),
  hop: name('hop'),
  inputs: name('inputs'),
  amount: name('amount'),
  relation: name('relation'),
  evidence: name('evidence'),
} as const;

/** Words are at most 24 of an action, 24 of a goal, 32 of an observation; other features are 13 at most. */
const MOST_FEATURES = 1 + 24 * (2 + 24 + 32) + 13;

/** Gathers one sparse vector. */
class Sink {
  readonly #indices = new Int32Array(MOST_FEATURES);
  readonly #values = new Float64Array(MOST_FEATURES);
  #count = 0;

  emptied(): this {
    this.#count = 0;
    return this;
  }

  add(name: number, feature: number, value: number): void {
    if (value === 0) return;
    const hash = crossHash(name, feature);
    this.#indices[this.#count] = hash & (FEATURE_BUCKETS - 1);
    this.#values[this.#count++] = hash >>> 31 === 1 ? -value : value;
  }

  addAll({ indices, values }: FeatureVector): void {
    this.#indices.set(indices, this.#count);
    this.#values.set(values, this.#count);
    this.#count += indices.length;
  }

  vector(): FeatureVector {
    return { indices: this.#indices.slice(0, this.#count), values: this.#values.slice(0, this.#count) };
  }

  score(weights: Float64Array): number {
    let score = 0;
    for (let i = 0; i < this.#count; i++) {
      // indices stay below the buckets
      score += (weights[this.#indices[i] as number] as number) * (this.#values[i] as number);
    }
    return score;
  }
}

/** One for all: features are described one after the other. */
const scratch = new Sink();
