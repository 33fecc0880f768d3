import { promptDigest } from '../events/prompt-digest.ts';
import type { EventBuilder } from './event-builder.ts';
import { recordDrawnHistories } from './record-drawn-histories.ts';

/** A step whose prompt shows an image. */
export interface TwinStep {
  readonly stepId: string;
  readonly imageId: string;
  readonly factor: number;
}

/**
 * Records two rollouts whose last steps were shown the same history at two factors that give equal pixels, in recorded prompts.
 * @throws Error where the pixels differ.
 */
export function recordTwinImages(
  builder: EventBuilder,
  text = 'a hall with a door',
): { readonly runId: string; readonly steps: readonly TwinStep[] } {
  const runId = builder.run();
  const steps = [5, 4.999].map((factor, i): TwinStep => {
    const tree = builder.tree(runId, `twin ${i}`);
    const rolloutId = builder.rollout(tree);
    const first = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: 'look' });
    const stepId = builder.step(tree, rolloutId, first, 2, { response: 'done', termination: 'terminated' });
    const drawn = recordDrawnHistories(builder, tree, [first, stepId], { records: [text], factors: [1, factor] });
    const imageId = drawn.imageIds[1] ?? '';
    const parts = [{ kind: 'image' as const, imageId }];
    builder.record(
      'PromptShown',
      {
        treeId: tree.treeId,
        stepId,
        base: null,
        template: null,
        tools: null,
        sampling: {
          temperature: 1,
          topP: 1,
          topK: -1,
          minP: 0,
          repetitionPenalty: 1,
          maxTokens: null,
          stop: [],
          seed: null,
          others: [],
        },
        server: null,
        blocks: [],
        sha256: promptDigest([{ role: 'user', parts }]),
        messages: [{ role: 'user', parts }],
        tokens: null,
      },
      runId,
    );
    builder.reward(tree, stepId, 1, { rolloutId });
    builder.finishRollout(tree, rolloutId, stepId, { steps: 2 });
    return { stepId, imageId, factor };
  });
  if (new Set(steps.map(({ imageId }) => imageId)).size !== 1) throw new Error('the factors give different pixels');
  return { runId, steps };
}
