import { shareGptTurns } from '../../../domain/dataset/chat.ts';
import { turnWeights } from '../../../domain/dataset/turn-weights.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { ExportFormat } from './format.ts';
import { metadataOf } from './write-openai.ts';

/** What Agent-R answers to every instruction where a run does not say otherwise (Agent-R spec §4.3). */
export const DEFAULT_ACKNOWLEDGEMENT = 'Ok.';

/** Writes a trajectory as one line in the shape of AgentGym's AgentTraj items. Returns null for a trajectory without a step. */
export function shareGptLine(
  trajectory: ExportTrajectory,
  format: Extract<ExportFormat, { kind: 'sharegpt' }>,
  acknowledgement: string,
): string | null {
  if (trajectory.steps.length === 0) return null;
  const { head, root, steps, rollout, returnValue } = trajectory;
  const conversations = shareGptTurns(
    { instruction: head.instruction, firstObservation: root.observation, history: steps },
    turnWeights(steps, rollout, format.weights),
    acknowledgement,
  );
  const item = {
    item_id: `${head.environment}_${head.alias}`,
    conversations,
    reward: returnValue,
    success: rollout.success,
    metadata: metadataOf(trajectory),
  };
  return `${JSON.stringify(item)}\n`;
}

/** Finds the acknowledgement that an imported run remembers of its source: `config.acknowledgement`, one text for the run. */
export function acknowledgementIn(config: unknown): string {
  if (typeof config === 'object' && config !== null && 'acknowledgement' in config && typeof config.acknowledgement === 'string')
    return config.acknowledgement;
  return DEFAULT_ACKNOWLEDGEMENT;
}
