import { z } from 'zod';
import { applySearchFacts, type SearchFact } from '../../domain/search/search-facts.ts';
import { type SearchState, searchPath, startSearch } from '../../domain/search/search-tree.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';

const node = z.object({ visits: z.number(), value: z.number(), terminal: z.boolean() });
const shape = z.object({ steps: z.array(z.object({ leaf: z.string(), reward: z.number(), after: z.record(z.string(), node) })) });

/** The tree that the file describes in words: root → (a → (a1, a2), b → (b1, b2)), where b2 ends only when it is backed up. */
const BUILT: readonly SearchFact[] = [
  ...family('root', ['a', 'none'], ['b', 'none']),
  ...family('a', ['a1', 'terminated'], ['a2', 'terminated']),
  ...family('b', ['b1', 'terminated'], ['b2', 'none']),
];

/** Judges `03_backprop`: visits, value sums and ends along the path of each back-up. */
export const backUpCheck: VectorCheck = {
  fileName: /^03_backprop.*\.json$/,
  *judge({ json }) {
    let state: SearchState = applySearchFacts(startSearch('root'), BUILT);
    for (const { leaf, reward, after } of shape.parse(json).steps) {
      const path = searchPath(state, leaf);
      state = applySearchFacts(state, [{ kind: 'backed-up', simulation: 0, leafStepId: leaf, value: reward, path }]);
      const actual = [...state.nodes.values()].map((n) => [
        n.stepId,
        { visits: n.visits, value: n.valueSum, terminal: n.terminal },
      ]);
      yield judgeEqual(`${leaf} with ${reward}`, Object.fromEntries(actual), after);
    }
  },
};

function family(
  parentStepId: string,
  ...children: readonly (readonly [stepId: string, end: 'none' | 'terminated'])[]
): SearchFact[] {
  const added = children.map(([stepId, end], ordinal): SearchFact => {
    return { kind: 'child-added', simulation: 0, stepId, parentStepId, ordinal, score: 0, end, equivalentTo: null };
  });
  return [...added, { kind: 'node-expanded', simulation: 0, stepId: parentStepId }];
}
