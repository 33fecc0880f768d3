import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { sha256Hex } from '../digest/sha256.ts';
import { createRandom } from '../domain/random/random.ts';
import { actOfCandidate, candidatesOf } from './candidates.ts';
import { candidateFeatures, candidateScores } from './linear/features.ts';
import type { Situation } from './linear/situation.ts';
import { logProbGradient, logSoftmax, pick, type SparseGradient, scoreOf } from './linear/softmax.ts';
import { decodeWeights, type LinearWeights, zeroWeights } from './linear/weights.ts';
import type { Policy } from './policy.ts';
import { definePolicy, nonEmpty, PolicySpecError, temperature } from './policy-entry.ts';

/**
 * Makes the linear softmax policy π(a | s) = exp(θ·φ(s, a)/T) / Σ_b exp(θ·φ(s, b)/T) over the admissible actions. Its n acts are
 * independent draws, fixed by the request's seed. Each act's `tokens` hold what training needs besides the recorded candidates:
 * the position of the chosen action in `request.admissibleActions`, and its exact log π at the temperature it was drawn with.
 * @param options.policyId names the line of versions that the weights belong to. @param options.temperature in place of the
 * request's.
 */
export function linearPolicy(
  weights: LinearWeights,
  options: { readonly policyId?: string | undefined; readonly temperature?: number | undefined } = {},
): Policy {
  return {
    ref: { policyId: options.policyId ?? 'linear', version: weights.version },
    choosesFrom: 'candidates',
    temperature: options.temperature,
    repeats: true,
    async act(request, signal) {
      signal.throwIfAborted();
      const candidates = candidatesOf(request, 'linear');
      const logProbs = candidateLogProbs(weights, request, candidates, options.temperature ?? request.temperature);
      const random = createRandom(request.seed);
      return Array.from({ length: request.n }, () => {
        const chosen = pick(logProbs, random.next());
        // pick() yields a position of its argument
        const [action, logProb] = [candidates[chosen] as string, logProbs[chosen] as number];
        return actOfCandidate(request, `I weigh ${candidates.length} possible actions.`, action, {
          ids: [chosen],
          logProbs: [logProb],
        });
      });
    },
    async close() {},
  };
}

/** Returns log π of each candidate, in nats. Their order changes only the order of the answers (to the last bits of a sum). */
export function candidateLogProbs(
  weights: LinearWeights,
  situation: Situation,
  candidates: readonly string[],
  temperature: number,
): number[] {
  return logSoftmax(candidateScores(weights.values, situation, candidates), temperature);
}

/** Returns log π(chosen) and its gradient ∇θ log π(chosen), for policy gradients and behaviour cloning. */
export function gradientLogProb(
  weights: LinearWeights,
  situation: Situation,
  candidates: readonly string[],
  chosen: number,
  temperature: number,
): { readonly logProb: number; readonly gradient: SparseGradient } {
  const features = candidateFeatures(situation, candidates);
  const logProbs = logSoftmax(
    features.map((vector) => scoreOf(weights.values, vector)),
    temperature,
  );
  const gradient = logProbGradient(features, logProbs, chosen, temperature);
  return { logProb: logProbs[chosen] as number, gradient }; // logProbGradient refuses a candidate that does not exist
}

export const linear = definePolicy({
  kind: 'linear',
  forms: ['linear', 'linear:FILE'],
  options: z.strictObject({
    /** A file written by a trainer; without it the policy starts from zero weights, which is the uniform policy. */
    weightsFile: nonEmpty.optional(),
    policyId: nonEmpty.max(200).optional(),
    /** In place of the temperature of the run. */
    temperature: temperature.optional(),
  }),
  read: (rest) => (rest === undefined ? {} : { weightsFile: rest }),
  open: (spec) => (spec.weightsFile === undefined ? linearPolicy(zeroWeights(), spec) : fromFile(spec.weightsFile, spec)),
});

async function fromFile(file: string, options: Parameters<typeof linearPolicy>[1]): Promise<Policy> {
  try {
    const bytes = await readFile(file);
    return { ...linearPolicy(decodeWeights(bytes), options), digest: sha256Hex(bytes) };
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new PolicySpecError(
      'weightsFile',
      `${JSON.stringify(file)} cannot be used: ${why}; name a file that a trainer wrote, or leave it out`,
      { cause },
    );
  }
}
