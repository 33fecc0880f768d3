import type { PolicyMessage } from '../domain/prompts/policy-prompt.ts';
import type { EventBuilder } from './event-builder.ts';
import { recordDrawnHistories } from './record-drawn-histories.ts';
import { recordMessages } from './record-messages.ts';

/** A step whose prompt shows an image. */
export interface TwinStep {
  readonly stepId: string;
  readonly imageId: string;
  readonly factor: number;
}

interface TwinSteps {
  readonly runId: string;
  readonly steps: readonly TwinStep[];
}

const FACTORS = [5, 4.999];

/**
 * Records two rollouts whose last steps were shown the same history at two factors that give equal pixels, in recorded prompts.
 * @throws Error where the pixels differ.
 */
export function recordTwinImages(builder: EventBuilder, text = 'a hall with a door'): TwinSteps {
  const runId = builder.run();
  const steps = FACTORS.map((factor, i): TwinStep => {
    const tree = builder.tree(runId, `twin ${i}`);
    const rolloutId = builder.rollout(tree);
    const first = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: 'look' });
    const stepId = builder.step(tree, rolloutId, first, 2, { response: 'done', termination: 'terminated' });
    const drawn = recordDrawnHistories(builder, tree, [first, stepId], { records: [text], factors: [1, factor] });
    const imageId = drawn.imageIds[1] ?? '';
    recordMessages(builder, tree, stepId, [showing(imageId)]);
    builder.reward(tree, stepId, 1, { rolloutId });
    builder.finishRollout(tree, rolloutId, stepId, { steps: 2 });
    return { stepId, imageId, factor };
  });
  return checked({ runId, steps });
}

/**
 * Records one rollout whose last two steps were shown the same history at two factors that give equal pixels; the prompt of the
 * last one continues that of the other. @throws Error where the pixels differ.
 */
export function recordTwinSteps(builder: EventBuilder): TwinSteps {
  const runId = builder.run();
  const tree = builder.tree(runId);
  const rolloutId = builder.rollout(tree);
  const first = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: 'look' });
  const second = builder.step(tree, rolloutId, first, 2, { response: 'wait' });
  const third = builder.step(tree, rolloutId, second, 3, { response: 'done', termination: 'terminated' });
  const drawn = recordDrawnHistories(builder, tree, [first, second, third], {
    records: ['a hall with a door', ''],
    factors: [1, ...FACTORS],
  });
  const [, one = '', two = ''] = drawn.imageIds;
  const wait: PolicyMessage = { role: 'assistant', parts: [{ kind: 'text', text: 'wait' }] };
  recordMessages(builder, tree, second, [showing(one)]);
  recordMessages(builder, tree, third, [showing(one), wait, showing(two)]);
  builder.reward(tree, third, 1, { rolloutId });
  builder.finishRollout(tree, rolloutId, third, { steps: 3 });
  const steps = [second, third].map((stepId, i) => ({ stepId, imageId: drawn.imageIds[i + 1] ?? '', factor: FACTORS[i] ?? 1 }));
  return checked({ runId, steps });
}

function showing(imageId: string): PolicyMessage {
  return { role: 'user', parts: [{ kind: 'image', imageId }] };
}

function checked(twins: TwinSteps): TwinSteps {
  if (new Set(twins.steps.map(({ imageId }) => imageId)).size !== 1) throw new Error('the factors give different pixels');
  return twins;
}
