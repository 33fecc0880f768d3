import { createRandom } from '../../domain/random/random.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import {
  type Environment,
  EnvironmentError,
  type EnvironmentKind,
  type ParsedResponse,
  type StepResult,
} from '../../environments/environment.ts';
import { observationText, type RecordedObservation, sameObservation, shownText } from '../../environments/same-observation.ts';
import { picturesOf } from '../../environments/with-pictures.ts';
import { environmentFault, withFault } from './environment-fault.ts';
import type { GrowingTree, TreeNode } from './growing-tree.ts';
import { pathTo, restoreEnvironment } from './restore-environment.ts';

/** An action that leads from a node to a new one. */
export interface NewAction {
  /** The new node. */
  readonly stepId: string;
  readonly action: string;
}

export interface Executed {
  readonly result: StepResult;
  /** 0 where the answer was known. */
  readonly environmentMs: number;
}

export interface Execution {
  /** What was executed, by the new node. */
  readonly executed: ReadonlyMap<string, Executed>;
  /** Why the environment failed over an action; null where it did not. */
  readonly failure: string | null;
}

/**
 * The running episodes of a search. An episode is brought to a node only when an action has to be executed there. Where the
 * environment answers equal actions alike, nodes with equal actions from the opening on are one place: an action that was
 * executed at a place is answered from what was seen. Where an episode can be copied, the one at every place that may be expanded
 * is kept, so that a new answer costs one environment step; where it cannot, one episode goes on from where it is, and is reset
 * and replayed, every observation compared, to be anywhere else.
 */
export interface Episodes {
  /** Splits a reply into thought and action. */
  parse(response: string): Promise<ParsedResponse>;
  /** The next action of a perfect player at a node; null where there is none. */
  expertAction(stepId: string): Promise<string | null>;
  /**
   * Takes actions at a node, in this order. An action that is missing in the answer was not executed: the signal was aborted, the
   * environment did not repeat what is recorded on the way there, or it failed over the action. @throws EnvironmentError for what
   * is away.
   */
  execute(stepId: string, wanted: readonly NewAction[]): Promise<Execution>;
  /** Notes of a node that was reached by an action whether it may be expanded. */
  settle(stepId: string, state: 'open' | 'ended'): Promise<void>;
  /** Notes that a node is expanded: nobody starts there again. */
  release(stepId: string): Promise<void>;
  close(): Promise<void>;
}

/** Where actions lead to from the opening of a task. */
interface Place {
  /** What the last action on the way answered; null at the opening, and where neither process nor record knows it. */
  result: StepResult | null;
  readonly ways: Map<string, Place>;
  /** Nodes here that may be expanded. */
  open: number;
}

const KEPT = 1_024; // episodes: a TextCraft one is a map of counts; the paper's search, 8 × 20 × 4, opens at most 672 nodes

/** Opens the episodes of a tree, none of them begun. Who opens them closes them. */
export function openEpisodes(tree: GrowingTree): Episodes {
  const isDeterministic = tree.kind.deterministic === true;
  const places = new Map<string, Place>();
  /** Episodes that can be copied, each at its place; the oldest first. */
  const kept = new Map<Place, Environment>();
  /** The one episode that cannot be copied; at no place before it was begun. */
  let live: { readonly place: Place | null; readonly environment: Environment } | null = null;
  const notRepeated = new Set<Place>();
  const comparedDepths = new Set<number>();
  let hasCopied = false;
  for (const { stepId, parentStepId, action, ended } of tree.nodes.values()) {
    const place = parentStepId === null ? newPlace() : wayFrom(placeOf(parentStepId), stepId, action);
    if (!ended) place.open++;
    if (isDeterministic) place.result ??= recordedAnswer(tree, stepId);
    places.set(stepId, place);
  }

  function placeOf(stepId: string): Place {
    const place = places.get(stepId);
    if (!place) throw new RangeError(`tree ${tree.treeId} has no step ${stepId}`);
    return place;
  }

  function wayFrom({ ways }: Place, stepId: string, action: string): Place {
    const key = isDeterministic ? action : stepId;
    const known = ways.get(key);
    if (known) return known;
    const place = newPlace();
    ways.set(key, place);
    return place;
  }

  async function drop(place: Place): Promise<void> {
    const episode = kept.get(place);
    kept.delete(place);
    await episode?.close();
  }

  async function keep(place: Place, environment: Environment): Promise<void> {
    if (kept.has(place)) return environment.close();
    kept.set(place, environment);
    for (const oldest of kept.keys()) {
      if (kept.size <= KEPT) break;
      await drop(oldest);
    }
  }

  /** Returns an episode at a node, still held here; null where the environment did not repeat what is recorded. */
  async function episodeAt(place: Place, stepId: string): Promise<Environment | null> {
    if (notRepeated.has(place)) return null;
    const there = kept.get(place) ?? (live?.place === place ? live.environment : undefined);
    if (there) return there;
    const environment = live?.environment ?? (await tree.kind.create());
    live = { place: null, environment };
    const restored = await restoreEnvironment(tree, environment, pathTo(tree, stepId), stepId);
    if (restored.kind === 'diverged') {
      notRepeated.add(place);
      return null;
    }
    if (environment.clone) {
      live = null;
      await keep(place, environment);
    } else live = { place, environment };
    return environment;
  }

  async function take(place: Place, next: Place, { stepId, action, isLast }: NewAction & { isLast: boolean }): Promise<boolean> {
    const there = await episodeAt(place, stepId);
    if (there === null) return false;
    let environment = there;
    if (!there.clone) live = null;
    else if (isLast && place.open <= 1)
      kept.delete(place); // nobody starts here again
    else {
      hasCopied = true;
      environment = await there.clone();
    }
    try {
      next.result = await environment.step(action, tree.signal);
    } catch (error) {
      await environment.close(); // whether the action was executed is not known
      throw error;
    }
    if (environment.clone) await keep(next, environment);
    else live = { place: next, environment };
    return true;
  }

  return {
    async parse(response) {
      const [some] = kept.values();
      if (some) return some.parse(response);
      live ??= { place: null, environment: await tree.kind.create() };
      return live.environment.parse(response);
    },
    async expertAction(stepId) {
      return (await (await episodeAt(placeOf(stepId), stepId))?.expertAction?.()) ?? null;
    },
    async execute(stepId, wanted) {
      const place = placeOf(stepId);
      const executed = new Map<string, Executed>();
      let failure: string | null = null;
      const ways = wanted.map((each) => ({ ...each, next: wayFrom(place, each.stepId, each.action) }));
      const taken: (typeof ways)[number][] = [];
      for (const [i, { next, ...each }] of ways.entries()) {
        if (tree.signal.aborted) break;
        const began = tree.clock();
        const isLast = ways.slice(i + 1).every((later) => later.next === next || later.next.result !== null);
        const isKnown = next.result !== null;
        if (!isKnown) {
          const took = await orFailure(take(place, next, { ...each, stepId, isLast }));
          if (took === false) break;
          if (took !== true) {
            failure = took;
            continue;
          }
          taken.push({ next, ...each });
        }
        if (next.result === null) throw new TypeError('an action that was taken has a result');
        places.set(each.stepId, next);
        executed.set(each.stepId, { result: next.result, environmentMs: isKnown ? 0 : Math.max(0, tree.clock() - began) });
      }
      // what a single copy shows, or an answer that was not given before, is the word of the environment itself
      const last = isDeterministic ? ways.findLast(({ next }) => next.result) : taken.length > 1 ? taken.at(-1) : undefined;
      if (last?.next.result && !tree.signal.aborted) {
        const path = pathTo(tree, stepId);
        const isFirst = !comparedDepths.has(path.length);
        comparedDepths.add(path.length);
        if (wantsComparison(tree.kind, { isFirst, stepId: last.stepId }))
          await compareWithOpening(tree, { path, action: last.action, result: last.next.result, hasCopied });
      }
      return { executed, failure };
    },
    async settle(stepId, state) {
      const place = placeOf(stepId);
      if (state === 'open') place.open++;
      else if (place.open === 0) await drop(place);
    },
    async release(stepId) {
      const place = placeOf(stepId);
      place.open--;
      if (place.open === 0) await drop(place);
    },
    async close() {
      const open = [...kept.values(), ...(live ? [live.environment] : [])];
      kept.clear();
      live = null;
      await Promise.all(open.map((episode) => episode.close()));
    },
  };
}

/** What the record of a resumed search holds of an answer, with the pictures that the node shows; null where it is not whole. */
function recordedAnswer({ tree, nodes }: GrowingTree, stepId: string): StepResult | null {
  const answer = tree?.answers?.get(stepId);
  const pictures = nodes.get(stepId)?.pictures ?? [];
  return answer ? { ...answer, ...(pictures.length > 0 ? { pictures } : {}) } : null;
}

/** Waits for an action. Returns why the environment failed over it. @throws other errors. */
async function orFailure(taking: Promise<boolean>): Promise<boolean | string> {
  return taking.catch((error: unknown) => {
    const fault = environmentFault(error);
    if (fault?.kind !== 'failed') throw error;
    return fault.reason;
  });
}

function newPlace(): Place {
  return { result: null, ways: new Map(), open: 0 };
}

/** What an action was answered: in a search, where copies may have been made, or at the end of a rollout. */
interface GivenAnswer {
  /** From the root to the node where the action was taken. */
  readonly path: readonly TreeNode[];
  readonly action: string;
  readonly result: StepResult;
  /** Whether an episode of the tree was copied before. */
  readonly hasCopied: boolean;
}

/**
 * Whether an answer is to be compared with an episode that is played from the opening: the first one (at each depth of a search,
 * since copies may begin to share state late; of the rollouts of a run), and others at random. The draw follows from the node, and
 * consumes nothing.
 */
export function wantsComparison(
  { unproven }: EnvironmentKind,
  { isFirst, stepId }: { readonly isFirst: boolean; readonly stepId: string },
): boolean {
  return unproven !== undefined && (isFirst || createRandom(seedFrom('compare', stepId)).next() < unproven.rate);
}

/**
 * Plays an episode from the opening to where an answer was given, and compares what it shows: copies that share state with each
 * other or with their original answer for actions that were taken in the others, and an environment that answers equal actions
 * otherwise is not deterministic. Of an environment that
 * claims neither, nothing can be said: that comparison is `undecided`. @throws EnvironmentError `claim`, with the remedy.
 */
export async function compareWithOpening(tree: GrowingTree, { path, action, result, hasCopied }: GivenAnswer): Promise<void> {
  const seen: readonly RecordedObservation[] = [...path, { observation: result.observation, pictures: picturesOf(result) }];
  const actions = [...path.slice(1).map((node) => node.action), action];
  const first = await play(tree, actions);
  if (first === null) return;
  const at = seen.findIndex((recorded, i) => !first[i] || !sameObservation(first[i], recorded));
  const [was, is] = [seen[at], first[at]];
  if (!was || !is) return tree.onCompared('same');
  const again = await play(tree, actions);
  const repeats = again?.every((shown, i) => first[i] && shownText(shown) === shownText(first[i])) ?? false;
  const { name, deterministic } = tree.kind;
  const isOfCopies = repeats && hasCopied;
  if (!isOfCopies && !deterministic) return tree.onCompared('undecided');
  const difference = `after ${quoted(actions[at - 1] ?? '')} it showed ${quoted(observationText(was))}, and the same actions from the opening show ${quoted(shownText(is))} in task ${quoted(tree.task.alias)}`;
  throw new EnvironmentError(
    'claim',
    isOfCopies
      ? `copies of an episode of ${name} share state: ${difference}; let a copy (POST /fork, fork of a class, clone of a module) share nothing with its original, or offer none`
      : `${name} claims to be deterministic and is not: ${difference}; leave "deterministic" out of its description`,
  );
}

/** Returns the opening and what follows each action; null where the environment fails on the way. */
async function play({ task, plan, kind, signal }: GrowingTree, actions: readonly string[]): Promise<readonly Shown[] | null> {
  const played = async (): Promise<readonly Shown[]> => {
    const episode = await kind.create();
    try {
      const shown: Shown[] = [await episode.reset({ alias: task.alias, seed: plan.taskSeed, mode: 'alone' })];
      for (const action of actions) shown.push(await episode.step(action, signal));
      return shown;
    } finally {
      await episode.close();
    }
  };
  const shown = await withFault(played());
  return 'reason' in shown ? null : shown;
}

type Shown = Pick<StepResult, 'observation' | 'pictures'>;

const quoted = (text: string) => JSON.stringify(text.slice(0, 200));
