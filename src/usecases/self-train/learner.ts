import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { sha256Hex } from '../../digest/sha256.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { decodeWeights, type LinearWeights, zeroWeights } from '../../policies/linear/weights.ts';
import { type PolicySpec, parsePolicyText } from '../../policies/policy-spec.ts';
import { writeWeights } from '../train/weights-file.ts';
import type { Method, SelfTrainPlan } from './plan.ts';
import type { Trainer } from './run-trainer.ts';

/** A policy between two iterations, as a run's plan can name it. */
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

/** What a method has come to: its policy, and the data that made it, iteration by iteration. */
export interface Learner {
  readonly method: Method;
  readonly policy: LearnedPolicy;
  readonly runIds: readonly string[];
  readonly datasetIds: readonly string[];
}

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

type LinearSpec = Omit<Extract<PolicySpec, { kind: 'linear' }>, 'kind' | 'weightsFile'>;

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

/** Returns the policy that every method begins with. @throws PolicySpecError. */
export function startPolicy(folder: string, text: string): Promise<LearnedPolicy> {
  return takePolicy(folder, parsePolicyText(text), '.', 'nothing');
}

/** One repetition of a self-training: everything it draws follows from the id of the whole and its seed. */
export interface Repetition {
  readonly platform: Platform;
  readonly selfTrainId: string;
  readonly plan: SelfTrainPlan;
  readonly seed: number;
  readonly kind: EnvironmentKind;
  readonly trainAliases: readonly string[];
  readonly testAliases: readonly string[];
  readonly folders: {
    readonly weights: string;
    /** The released files, and what trainers left. */
    readonly releases: string;
  };
  /** Who trains where the plan says that somebody else does. */
  readonly trainer: Trainer | null;
  readonly concurrency: number;
  readonly signal: AbortSignal;
}
