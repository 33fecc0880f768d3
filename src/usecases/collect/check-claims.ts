import { createRandom } from '../../domain/random/random.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import { EnvironmentError, type EnvironmentKind, type StepResult } from '../../environments/environment.ts';
import { observationText, type RecordedObservation, sameObservation, shownText } from '../../environments/same-observation.ts';
import { picturesOf } from '../../environments/with-pictures.ts';
import { orFault } from './environment-fault.ts';
import type { GrowingTree, TreeNode } from './growing-tree.ts';

const compared = new WeakMap<EnvironmentKind, Set<number>>();

/** What a search was answered in a copy, or in place of an action that was executed before. */
export interface SearchedAnswer {
  /** From the root to the node where the action was taken. */
  readonly path: readonly TreeNode[];
  readonly action: string;
  /** The node that the action led to. */
  readonly stepId: string;
  readonly result: StepResult;
}

/**
 * Whether an answer is to be compared with an episode that is played from the opening: the first one at each depth, since copies
 * may begin to share state late, and others at random. The draw follows from the node, and consumes nothing.
 */
export function wantsComparison(kind: EnvironmentKind, { path, stepId }: Pick<SearchedAnswer, 'path' | 'stepId'>): boolean {
  const { unproven } = kind;
  if (!unproven) return false;
  const depths = compared.get(kind) ?? new Set();
  compared.set(kind, depths);
  if (depths.has(path.length)) return createRandom(seedFrom('compare', stepId)).next() < unproven.rate;
  depths.add(path.length);
  return true;
}

/**
 * Plays an episode from the opening to where an answer was given, and compares what it shows: copies that share state with each
 * other or with their original answer for actions that were taken in the others, and an environment that answers equal actions
 * otherwise is not deterministic. Of an environment that
 * neither repeats itself nor claims to, nothing can be said: that comparison is `undecided`. @throws
 * EnvironmentError `claim`, with the remedy.
 */
export async function compareWithOpening(tree: GrowingTree, { path, action, result }: SearchedAnswer): Promise<void> {
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
  if (!repeats && !deterministic) return tree.onCompared('undecided');
  const difference = `behind ${quoted(actions[at - 1] ?? '')} a search was shown ${quoted(observationText(was))}, and the same actions from the opening show ${quoted(shownText(is))}`;
  throw new EnvironmentError(
    'claim',
    repeats
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
  const shown = await orFault(played());
  return 'reason' in shown ? null : shown;
}

type Shown = Pick<StepResult, 'observation' | 'pictures'>;

const quoted = (text: string) => JSON.stringify(text.slice(0, 200));
