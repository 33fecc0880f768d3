import { z } from 'zod';
import { type PublishedNode, publishedTree, readPublishedTree } from '../../domain/search/published-tree.ts';
import { judgeEqual, type VectorCheck, type VectorFile } from '../vector-check.ts';
import { publishedNode } from './published-node.ts';

const shape = z.record(z.string(), publishedNode);

/**
 * Judges `05_trees`: read, and written again from what was kept, each tree is the same, though its score was not computed by who
 * wrote it.
 */
export const publishedTreesCheck: VectorCheck = {
  fileName: /^05_trees.*\.json$/,
  *judge({ json }) {
    for (const [name, tree] of Object.entries(shape.parse(json))) {
      yield judgeEqual(name, withoutScore(publishedTree(readPublishedTree(tree))), withoutScore(tree));
    }
  },
};

/** Reads the trees that the pairings and rows were made of. @throws Error when the sibling file is missing or another. */
export async function siblingTrees({ readSibling }: VectorFile) {
  const trees = shape.parse(await readSibling('05_trees.json'));
  return (name: string) => {
    const tree = trees[name];
    if (!tree) throw new Error(`05_trees.json has no tree ${name}`);
    return readPublishedTree(tree);
  };
}

function withoutScore(node: PublishedNode): PublishedNode {
  return { ...node, puct_value: 0, children: node.children.map(withoutScore) };
}
