import type { Method } from '../../events/schemas/training.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import type { Tensor } from './safetensors.ts';

/** What the estimator of a batch makes of the sampled tokens of its steps; or why it makes nothing. */
export type RowAdvantages = EstimatedRows | NotEstimated;

export interface EstimatedRows {
  readonly kind: 'estimated';
  readonly method: Method;
  /** By `keyInTree` of the step: one number for each sampled token, or one for all of them. */
  readonly ofStep: ReadonlyMap<string, StepAdvantages>;
}

export interface StepAdvantages {
  readonly advantages: Float64Array;
  readonly returns: Float64Array;
}

export interface NotEstimated {
  readonly kind: 'refused';
  readonly reason: string;
}

/** A token that a policy sampled: where it is among all tokens of the layout, and the step that it was sampled in. */
export interface SampledToken {
  readonly at: number;
  readonly treeId: string;
  readonly stepId: string;
}

/**
 * Lays advantages and returns out as columns of a number per token: 0 on tokens that nobody sampled.
 * @param sampled in the order in which each step sampled them.
 */
export function advantageColumns(
  tokens: number,
  sampled: Iterable<SampledToken>,
  found: RowAdvantages | null,
): readonly Tensor[] {
  if (found?.kind !== 'estimated') return [];
  const [advantages, returns] = [new Float32Array(tokens), new Float32Array(tokens)];
  const taken = new Map<string, number>();
  for (const { at, treeId, stepId } of sampled) {
    const key = keyInTree(treeId, stepId);
    const step = found.ofStep.get(key);
    if (!step) continue;
    const place = taken.get(key) ?? 0;
    taken.set(key, place + 1);
    advantages[at] = step.advantages[step.advantages.length === 1 ? 0 : place] ?? 0;
    returns[at] = step.returns[step.returns.length === 1 ? 0 : place] ?? 0;
  }
  return [
    { name: 'advantages', shape: [tokens], data: advantages },
    { name: 'returns', shape: [tokens], data: returns },
  ];
}

/** What the metadata of a body says of its advantages. */
export function describeAdvantages(found: RowAdvantages): string {
  return JSON.stringify(found.kind === 'estimated' ? { method: found.method } : { refused: found.reason });
}
