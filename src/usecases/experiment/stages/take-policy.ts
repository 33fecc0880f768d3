import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { sha256Hex } from '../../../digest/sha256.ts';
import { cutText } from '../../../domain/text/cut-text.ts';
import { decodeWeights, type LinearWeights, zeroWeights } from '../../../policies/linear/weights.ts';
import type { PolicySpec } from '../../../policies/policy-spec.ts';
import { writeWeights } from '../../train/weights-file.ts';

/** A policy before or after a training, as a run's plan can name it. */
export interface LearnedPolicy {
  /** The policy of a plan, as JSON. */
  readonly text: string;
  /**
   * What the policy is: the SHA-256 of its weights; where they lie elsewhere, that of its description and of the data it was
   * trained on.
   */
  readonly digest: string;
  /** Null where the weights lie elsewhere, behind a model server say. */
  readonly weights: LinearWeights | null;
}

/**
 * Takes in a policy that is described by a configuration: weights are read and kept with the others; a model elsewhere is taken
 * at its word.
 * @param from the folder that a weights file is named from. @param data what it was trained on; the same address may serve other
 * weights after it.
 * @throws PolicySpecError, or what reading the weights throws.
 */
export async function takePolicy(folder: string, spec: PolicySpec, from: string, data: string): Promise<LearnedPolicy> {
  if (spec.kind === 'linear') {
    const { kind: _, weightsFile, ...more } = spec;
    const weights = weightsFile === undefined ? zeroWeights() : decodeWeights(await readFile(resolve(from, weightsFile)));
    return keepWeights(folder, weights, more);
  }
  const digest = sha256Hex(`${JSON.stringify(spec)}\n${data}`);
  if (spec.kind !== 'openai') return { text: JSON.stringify(spec), digest, weights: null };
  const policyId = spec.policyId ?? `${cutText(spec.model, 100)}-${digest.slice(0, 12)}`;
  return { text: JSON.stringify({ ...spec, policyId }), digest, weights: null };
}

type LinearSpec = Omit<Extract<PolicySpec, { kind: 'linear' }>, 'kind' | 'weightsFile'>;

/** Keeps linear weights in a folder under their digest. Equal weights are one policy, whoever trained them. */
export async function keepWeights(
  folder: string,
  weights: LinearWeights,
  more: Partial<LinearSpec> = {},
): Promise<LearnedPolicy> {
  const { path, digest } = await writeWeights(folder, weights);
  const spec = { policyId: `linear-${digest.slice(0, 12)}`, ...more };
  const plain = Object.keys(more).length === 0;
  return {
    text: JSON.stringify({ kind: 'linear', weightsFile: path, ...spec }),
    digest: plain ? digest : sha256Hex(`${digest}\n${JSON.stringify(spec)}`),
    weights,
  };
}
