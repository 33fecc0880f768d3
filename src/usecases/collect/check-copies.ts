import { type Environment, EnvironmentError, type EnvironmentKind, type StepResult } from '../../environments/environment.ts';
import { observationText, type RecordedObservation, sameObservation, shownText } from '../../environments/same-observation.ts';
import { picturesOf } from '../../environments/with-pictures.ts';
import type { GrowingTree } from './growing-tree.ts';
import type { TreeNode } from './tree-node.ts';

const LOOKS = 3; // expansions: each costs the way to a node and one step, and what copies share shows early

const looks = new WeakMap<EnvironmentKind, number>();

/** Whether the next actions that are taken in copies are to be compared with an episode that is played from the opening. */
export function wantsCheck(kind: EnvironmentKind): boolean {
  return kind.copies === 'unproven' && (looks.get(kind) ?? 0) < LOOKS;
}

/** What was done in a copy. */
export interface InCopy {
  /** From the root to the node that was copied. */
  readonly path: readonly TreeNode[];
  /** The last of several actions that were taken there, each in a copy. */
  readonly action: string;
  readonly result: StepResult;
}

/**
 * Plays an episode from the opening to where a copy went, and compares what it shows: copies that share state with each other or
 * with their original answer for the actions that were taken in the others. Environments that do not repeat themselves are left
 * alone: nothing can be said of their copies. @param copy an episode that nobody needs; it is closed. @throws EnvironmentError
 * `protocol`, with the remedy.
 */
export async function checkCopies(tree: GrowingTree, copy: Environment, { path, action, result }: InCopy): Promise<void> {
  looks.set(tree.kind, (looks.get(tree.kind) ?? 0) + 1);
  const seen: readonly RecordedObservation[] = [...path, { observation: result.observation, pictures: picturesOf(result) }];
  const actions = [...path.slice(1).map((node) => node.action), action];
  try {
    const first = await play(tree, copy, actions);
    const at = seen.findIndex((recorded, i) => !first[i] || !sameObservation(first[i], recorded));
    const [was, is] = [seen[at], first[at]];
    if (!was || !is) return;
    const again = await play(tree, copy, actions);
    if (again.some((shown, i) => !first[i] || shownText(shown) !== shownText(first[i]))) return;
    throw new EnvironmentError(
      'protocol',
      `copies of an episode of ${tree.kind.name} share state: behind ${quoted(actions[at - 1] ?? '')} a copy showed ${quoted(observationText(was))}, and the same actions from the opening show ${quoted(shownText(is))}; let a copy (POST /fork, fork of a class, clone of a module) share nothing with its original, or offer none`,
    );
  } finally {
    await copy.close();
  }
}

/** Returns the opening and what follows each action. */
async function play(
  { task, plan, signal }: GrowingTree,
  episode: Environment,
  actions: readonly string[],
): Promise<readonly Shown[]> {
  const shown: Shown[] = [await episode.reset({ alias: task.alias, seed: plan.taskSeed, mode: 'alone' })];
  for (const action of actions) shown.push(await episode.step(action, signal));
  return shown;
}

type Shown = Pick<StepResult, 'observation' | 'pictures'>;

const quoted = (text: string) => JSON.stringify(text.slice(0, 200));
