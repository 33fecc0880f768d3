import type { DataOf } from '../events/catalogue.ts';
import type { EventBuilder } from './event-builder.ts';

/** Records a tree of so many nodes in which each has three children, and returns its id. */
export function recordBushyTree(builder: EventBuilder, run: string, nodes: number): string {
  const tree = builder.tree(run, 'bushy');
  const known = [{ id: tree.rootStepId, depth: 0 }];
  for (let at = 1; at < nodes; at++) {
    const parent = known[Math.floor((at - 1) / 3)];
    if (!parent) throw new RangeError(`node ${at} has no parent`);
    const depth = parent.depth + 1;
    known.push({ id: builder.step(tree, null, parent.id, depth, { action: `action ${at}` }), depth });
  }
  return tree.treeId;
}

/** Records a rollout of so many steps, every tenth of which shows the picture where one is given, and returns its id. */
export function recordLongRollout(
  builder: EventBuilder,
  run: string,
  steps: number,
  picture?: NonNullable<DataOf<'StepTaken'>['pictures']>[number],
): string {
  const tree = builder.tree(run, 'long');
  const rollout = builder.rollout(tree);
  let leaf = tree.rootStepId;
  for (let depth = 1; depth <= steps; depth++) {
    const pictures = picture && depth % 10 === 0 ? { pictures: [picture] } : {};
    leaf = builder.step(tree, rollout, leaf, depth, { action: `action ${depth}`, ...pictures });
  }
  builder.finishRollout(tree, rollout, leaf, { steps });
  return rollout;
}
