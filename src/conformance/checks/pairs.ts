import { z } from 'zod';
import { type LeafPath, leafPaths } from '../../domain/revision/leaf-paths.ts';
import { type PathPair, pairAsPublished } from '../../domain/revision/pair-as-published.ts';
import { judgeEqual, type VectorCheck } from '../vector-check.ts';
import { siblingTrees } from './published-trees.ts';

const names = z.array(z.string());
const namedPairs = z.array(z.tuple([z.string(), z.string()]));
const pairing = z.object({
  tree: z.string(),
  alpha: z.number(),
  beta: z.number(),
  rootValue: z.number(),
  rootVisits: z.number(),
  treeSkipped: z.boolean(),
  leavesDfs: z.array(names),
  leavesSorted: z.array(z.tuple([z.string(), z.number()])),
  pairsUnshuffled: namedPairs,
  pairsShuffledSeed123: namedPairs,
  acceptedPairsInOrder: namedPairs,
  goodOnly: names,
});
const shape = z.object({ cases: z.array(pairing) });

/** Judges `05_pairs`: leaves, their order, pairs before and after the shuffle, and what is accepted. */
export const pairsCheck: VectorCheck = {
  fileName: /^05_pairs.*\.json$/,
  async *judge(file) {
    const { cases } = shape.parse(file.json);
    const treeOf = await siblingTrees(file);
    for (const { tree: name, alpha, beta, ...expected } of cases) {
      const { tree } = treeOf(name);
      const found = pairAsPublished(tree, { alpha, beta });
      const actual = {
        rootValue: tree.root.step.valueSum,
        rootVisits: tree.root.step.visits,
        treeSkipped: found.skipped,
        leavesDfs: leafPaths(tree).map(({ steps }) => ['ROOT', ...steps.map(nameOf)]),
        leavesSorted: found.sorted.map((path) => [leafName(path), path.average]),
        pairsUnshuffled: found.found.map(namesOf),
        pairsShuffledSeed123: found.shuffled.map(namesOf),
        acceptedPairsInOrder: found.accepted.map(namesOf),
        goodOnly: found.good.map(leafName),
      };
      yield judgeEqual(`${name}, alpha ${alpha}, beta ${beta}`, actual, expected);
    }
  },
};

function namesOf({ good, bad }: PathPair): [string, string] {
  return [leafName(good), leafName(bad)];
}

function leafName({ steps }: LeafPath): string {
  const leaf = steps.at(-1);
  return leaf ? nameOf(leaf) : 'ROOT';
}

/** The files name a step after its action, `act g1`. */
function nameOf({ action }: { readonly action: string }): string {
  return action.replace(/^act /, '');
}
