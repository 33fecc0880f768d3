import fc from 'fast-check';
import type { SearchedStep } from '../search/search-tree.ts';
import { growTree, type Tree } from '../tree/grow-tree.ts';

/**
 * A trajectory of a made-up tree: a letter per step, of which the first `shared` may be those of an earlier trajectory, and a
 * score.
 */
export interface RecordedPath {
  readonly words: string;
  readonly shared: number;
  readonly score: number;
}

/**
 * Plants the tree of some trajectories. Each follows the nodes of earlier ones for at most `shared` steps, then has nodes of its
 * own, so that one content may occur twice under different ids. Reply, action and observation of a step follow from its letter.
 */
export function plant(paths: readonly RecordedPath[]): Tree<SearchedStep> {
  const rows = new Map<string, SearchedStep>([['root', stepOf('root', null, '')]]);
  for (const { words, shared, score } of paths) {
    const path = ['root'];
    for (const [i, letter] of [...words].entries()) {
      const parentStepId = path.at(-1) ?? 'root';
      const isLeaf = i === words.length - 1;
      const known = [...rows.values()].find(
        (row) => row.parentStepId === parentStepId && row.action === `act ${letter}` && !row.stepId.endsWith('!'),
      );
      const reused = i < shared && !isLeaf ? known : undefined;
      const step = reused ?? { ...stepOf(`${rows.size}${isLeaf ? '!' : ''}`, parentStepId, letter), score: isLeaf ? score : 0 };
      rows.set(step.stepId, step);
      path.push(step.stepId);
    }
    for (const stepId of path) {
      const row = rows.get(stepId);
      if (row) rows.set(stepId, { ...row, visits: row.visits + 1, valueSum: row.valueSum + score });
    }
  }
  return growTree([...rows.values()]);
}

/** Any tree of up to nine trajectories over three letters. Scores are eighths, so sums are exact. */
export const anyTree: fc.Arbitrary<Tree<SearchedStep>> = fc
  .array(
    fc.record({
      words: fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 4 }),
      shared: fc.nat(4),
      score: fc.nat(8).map((eighths) => eighths / 8),
    }),
    { minLength: 1, maxLength: 9 },
  )
  .map(plant);

function stepOf(stepId: string, parentStepId: string | null, letter: string): SearchedStep {
  const [response, action, observation] =
    letter === '' ? ['', '', ''] : [`Thought: think ${letter}\nAction: act ${letter}`, `act ${letter}`, `obs ${letter}`];
  return {
    stepId,
    parentStepId,
    response,
    action,
    observation,
    score: 0,
    disaster: false,
    terminal: true,
    visits: 0,
    valueSum: 0,
  };
}
