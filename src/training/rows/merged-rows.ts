import { type TrajectoryRow, trajectoryRows } from '../../domain/training/rows/trajectory-rows.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import type { ShownPrompt } from '../../projections/prompts/read-prompts.ts';
import type { BatchTrajectory } from './batch-rows.ts';
import { ownSteps } from './jagged.ts';
import type { NotLaidOut } from './layout.ts';
import { totalOf } from './reward-columns.ts';

/** Merges the steps that a rollout took into rows of recorded ids; refuses a trajectory that has not all of them. @param prompts by `keyInTree`. */
export function mergedRows(
  trajectory: BatchTrajectory,
  prompts: ReadonlyMap<string, ShownPrompt>,
): { readonly kind: 'rows'; readonly rows: readonly TrajectoryRow[] } | NotLaidOut {
  const own = ownSteps(trajectory);
  const steps = own.map(({ stepId, tokens, spans, rewards }) => {
    const prompt = prompts.get(keyInTree(trajectory.treeId, stepId));
    return { promptIds: prompt?.tokenIds ?? null, images: imagesIn(prompt), tokens, spans, reward: totalOf(rewards) };
  });
  const found = trajectoryRows(steps, totalOf(trajectory.rewards));
  if (found.kind === 'rows') return found;
  const { stepId } = own[found.step] ?? { stepId: '' }; // the step of a place
  const where = `step ${stepId} of rollout ${trajectory.rolloutId}`;
  return {
    kind: 'refused',
    message:
      found.what === 'sampled'
        ? `the layout verl needs every token of a trajectory: ${where} has no recorded tokens of the policy`
        : `the layout verl needs every token of a trajectory: ${where} has no recorded tokens of its observation, and the prompt behind it has no token ids`,
    remedy:
      'ask for layout=step, or collect with a server that returns prompt_token_ids and token_ids (vLLM from 0.10.2); `espalier export --format verl --tokenizer DIR` tokenises texts',
  };
}

/** The images that a prompt shows, in order. */
export function imagesIn(prompt: ShownPrompt | null | undefined): readonly string[] {
  return prompt?.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'image' ? [part.imageId] : []))) ?? [];
}
