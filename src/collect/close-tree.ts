import type { Draft } from '../append/appender.ts';
import { derivedId } from '../events/derived-id.ts';
import type { GrowingTree } from './collect-tree.ts';

/** Says that nothing more comes in a tree, and why. */
export function closing({ runId, treeId, task, plan, nodes }: GrowingTree, reason: 'completed' | 'exhausted' | 'failed'): Draft {
  const ended = [...nodes.values()].filter((node) => node.ended).length;
  const rollouts = reason === 'failed' ? 0 : plan.search ? ended : task.rollouts;
  return {
    type: 'TreeClosed',
    id: derivedId('TreeClosed', treeId),
    correlationId: runId,
    data: { treeId, reason, rollouts },
  };
}
