import { weightedChat, withLoss } from '../../../domain/dataset/chat.ts';
import { completionRows } from '../../../domain/dataset/preference.ts';
import { turnWeights } from '../../../domain/dataset/turn-weights.ts';
import { toXtuner } from '../../../domain/revision/xtuner.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { ExportFormat } from './format.ts';
import { metadataOf } from './write-openai.ts';

/**
 * Writes a trajectory for xtuner (one line) or TRL (a line per trained reply). None for a trajectory without a reply to train on.
 */
export function chatBodies(
  trajectory: ExportTrajectory,
  format: Extract<ExportFormat, { kind: 'xtuner' | 'trl' }>,
): readonly object[] {
  const { head, root, steps, rollout } = trajectory;
  if (steps.length === 0) return [];
  const conversation = { instruction: head.instruction, firstObservation: root.observation, history: steps };
  const messages = withLoss(weightedChat(conversation, turnWeights(steps, rollout, format.weights)));
  const bodies: readonly object[] = format.kind === 'trl' ? completionRows(messages) : [toXtuner(messages, 'keep')];
  return format.metadata === 'omit' ? bodies : bodies.map((body) => ({ ...body, metadata: metadataOf(trajectory) }));
}
