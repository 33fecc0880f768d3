import { promptMessages } from '../../../domain/history/prompt.ts';
import type { ExportTrajectory } from './export-trajectory.ts';
import type { ExportFormat } from './format.ts';
import { splitOwn } from './verl-tokens.ts';
import { metadataOf } from './write-openai.ts';

/**
 * Writes a trajectory as a scored completion for TRL, as GRPO and its relatives compare them: `prompt` (the chat before its own
 * first reply), `completion` (its replies and the observations between them), `reward` (its return), `rewards` by component, and
 * `group`, which all completions of one tree share. The observation after the last reply is left out. Null for a trajectory that
 * took no step.
 */
export function grpoLine(trajectory: ExportTrajectory, { metadata }: Extract<ExportFormat, { kind: 'trl-grpo' }>): string | null {
  const { head, root, rewards, returnValue } = trajectory;
  const { context, own } = splitOwn(trajectory);
  if (own.length === 0) return null;
  const opening = { instruction: head.instruction, firstObservation: root.observation };
  const body = {
    prompt: promptMessages({ ...opening, history: context }),
    completion: own
      .flatMap(({ response, observation }) => [
        { role: 'assistant', content: response },
        { role: 'user', content: observation },
      ])
      .slice(0, -1),
    reward: returnValue,
    rewards,
    group: head.treeId,
  };
  return `${JSON.stringify(metadata === 'include' ? { ...body, metadata: metadataOf(trajectory) } : body)}\n`;
}
