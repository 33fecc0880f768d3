import { weightedChat } from '../../../domain/dataset/chat.ts';
import { turnWeights } from '../../../domain/dataset/turn-weights.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { ExportFormat } from './format.ts';

/**
 * Writes a trajectory as one line of OpenAI chat fine-tuning: `messages` with `weight` 0 or 1 on assistant turns.
 * Returns null for a trajectory without a step: it has no reply to train on.
 */
export function openaiLine(trajectory: ExportTrajectory, format: Extract<ExportFormat, { kind: 'openai' }>): string | null {
  if (trajectory.steps.length === 0) return null;
  const { head, root, steps, rollout } = trajectory;
  const messages = weightedChat(
    { instruction: head.instruction, firstObservation: root.observation, history: steps },
    turnWeights(steps, rollout, format.weights),
  );
  return `${JSON.stringify(format.metadata === 'include' ? { messages, metadata: metadataOf(trajectory) } : { messages })}\n`;
}

/** Describes where an example comes from: every id that leads back to the record, and what it was worth. */
export function metadataOf({ head, rollout, returnValue, rewards, steps }: ExportTrajectory): object {
  return {
    trajectory: rollout.rolloutId,
    tree: head.treeId,
    run: head.runId,
    task: { id: head.taskId, alias: head.alias, goal: head.goal, depth: head.taskDepth, split: head.split },
    environment: { name: head.environment, fingerprint: head.serverFingerprint },
    policy: { id: rollout.policyId, version: rollout.policyVersion },
    ordinal: rollout.ordinal,
    outcome: rollout.outcome,
    success: rollout.success,
    return: returnValue,
    rewards,
    steps: steps.length,
  };
}
