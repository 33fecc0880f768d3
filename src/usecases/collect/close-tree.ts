import type { Draft } from '../../append/appender.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { GrowingTree } from './growing-tree.ts';

/**
 * Records that nothing more comes in a tree, and why. @param rollouts those that it has; all that were planned, or that ended,
 * when left out.
 */
export function closing(
  { runId, treeId, task, plan, nodes }: GrowingTree,
  reason: 'completed' | 'exhausted' | 'failed',
  rollouts?: number,
): Draft {
  const ended = () => [...nodes.values()].filter((node) => node.ended).length;
  return {
    type: 'TreeClosed',
    id: derivedId('TreeClosed', treeId),
    correlationId: runId,
    data: { treeId, reason, rollouts: rollouts ?? (plan.search ? ended() : task.rollouts) },
  };
}
