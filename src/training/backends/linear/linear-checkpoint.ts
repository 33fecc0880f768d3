import { FEATURE_BUCKETS } from '../../../policies/linear/features.ts';
import { STATE_BUCKETS } from '../../../policies/linear/state-features.ts';
import { decodeWeights, encodeWeights, type LinearWeights, zeroWeights } from '../../../policies/linear/weights.ts';
import { CheckpointDamaged } from '../backend.ts';

/** All that the linear backend goes on from: the policy, the critic, and what the optimiser remembers of both. */
export interface LinearCheckpoint {
  readonly policy: LinearWeights;
  readonly policyMoments: Moments;
  /** θ of V(s) = θ·ψ(s), one per bucket of `stateFeatures`. */
  readonly critic: Float64Array;
  readonly criticMoments: Moments;
  /** The coefficient that an adaptive KL penalty begins the next update with; null where there is none. */
  readonly klCoefficient: number | null;
}

const MAGIC = 0x43505345; // 'ESPC' in little-endian bytes
const FORMAT = 1;
const HEADER = 24;

/** Makes the checkpoint before the first update: the uniform policy and a critic that expects nothing. */
export function initialCheckpoint(): LinearCheckpoint {
  return {
    policy: zeroWeights(),
    policyMoments: noMoments(FEATURE_BUCKETS),
    critic: new Float64Array(STATE_BUCKETS),
    criticMoments: noMoments(STATE_BUCKETS),
    klCoefficient: null,
  };
}

/**
 * Writes a checkpoint as bytes, little-endian: 'ESPC', uint32 format, steps taken by policy and critic, length of the weights'
 * own bytes, critic buckets; those bytes (see weights.ts), then float64: the policy's two moments, the critic, its two moments,
 * and the coefficient of an adaptive KL penalty where there is one. Equal states give equal bytes.
 */
export function encodeCheckpoint(checkpoint: LinearCheckpoint): Uint8Array {
  const { policy, policyMoments, critic, criticMoments, klCoefficient } = checkpoint;
  const weights = encodeWeights(policy);
  const arrays = [policyMoments.first, policyMoments.second, critic, criticMoments.first, criticMoments.second];
  if (klCoefficient !== null) arrays.push(Float64Array.of(klCoefficient));
  const bytes = new Uint8Array(HEADER + weights.length + arrays.reduce((sum, { length }) => sum + length * 8, 0));
  const view = new DataView(bytes.buffer);
  for (const [i, word] of [MAGIC, FORMAT, policyMoments.steps, criticMoments.steps, weights.length, critic.length].entries())
    view.setUint32(i * 4, word, true);
  bytes.set(weights, HEADER);
  let at = HEADER + weights.length;
  for (const array of arrays)
    for (const value of array) {
      view.setFloat64(at, value === 0 ? 0 : value, true); // −0 would be other bytes for the same number
      at += 8;
    }
  return bytes;
}

/**
 * Reads a checkpoint back. @throws CheckpointDamaged that names what does not fit: another file, another format or revision, a
 * cut one, a value not finite.
 */
export function decodeCheckpoint(bytes: Uint8Array): LinearCheckpoint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const word = (i: number): number => view.getUint32(i * 4, true);
  if (bytes.length < HEADER || word(0) !== MAGIC)
    throw new CheckpointDamaged('these bytes are no linear checkpoint (they do not begin with ESPC)');
  if (word(1) !== FORMAT) throw new CheckpointDamaged(`the checkpoint is in format ${word(1)}; this program reads ${FORMAT}`);
  const expected = HEADER + word(4) + (2 * FEATURE_BUCKETS + 3 * STATE_BUCKETS) * 8;
  const hasCoefficient = bytes.length === expected + 8;
  if (word(5) !== STATE_BUCKETS || (bytes.length !== expected && !hasCoefficient))
    throw new CheckpointDamaged(
      `a checkpoint of this program has ${expected} bytes, this one ${bytes.length}: it is cut, or of another revision`,
    );
  let at = HEADER + word(4);
  const next = (length: number): Float64Array => {
    const array = new Float64Array(length);
    for (let i = 0; i < length; i++, at += 8) {
      const value = view.getFloat64(at, true);
      if (!Number.isFinite(value)) throw new CheckpointDamaged(`the checkpoint holds ${value} at byte ${at}`);
      array[i] = value;
    }
    return array;
  };
  const policy = readWeights(bytes);
  const policyMoments = { steps: word(2), first: next(FEATURE_BUCKETS), second: next(FEATURE_BUCKETS) };
  const critic = next(STATE_BUCKETS);
  const criticMoments = { steps: word(3), first: next(STATE_BUCKETS), second: next(STATE_BUCKETS) };
  return { policy, policyMoments, critic, criticMoments, klCoefficient: hasCoefficient ? (next(1)[0] ?? null) : null };
}

/** Cuts the policy's own bytes out of a checkpoint. @throws CheckpointDamaged. */
export function weightsBytes(bytes: Uint8Array): Uint8Array {
  return encodeWeights(decodeCheckpoint(bytes).policy);
}

function readWeights(bytes: Uint8Array): LinearWeights {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(16, true);
  try {
    return decodeWeights(bytes.subarray(HEADER, HEADER + length));
  } catch (cause) {
    throw new CheckpointDamaged(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** What Adam (Kingma & Ba 2015) remembers: how many steps were taken, and the running means of the gradient and of its square. */
export interface Moments {
  readonly steps: number;
  readonly first: Float64Array;
  readonly second: Float64Array;
}

interface StepRule {
  readonly optimiser: 'adam' | 'sgd';
  readonly learningRate: number;
  readonly clipNorm: number;
}

interface Stepped {
  /** `skipped`: the gradient was not finite, and nothing moved. */
  readonly kind: 'stepped' | 'skipped';
  readonly values: Float64Array;
  readonly moments: Moments;
  /** Before it was clipped. */
  readonly norm: number;
}

const DECAY_FIRST = 0.9;
const DECAY_SECOND = 0.999;
const EPSILON = 1e-8;

function noMoments(size: number): Moments {
  return { steps: 0, first: new Float64Array(size), second: new Float64Array(size) };
}

/**
 * Takes one step down a gradient, its norm clipped first. A gradient that is not finite moves nothing (as verl): one broken row
 * must not make every weight NaN. The arguments stay as they are.
 */
export function takeStep(values: Float64Array, moments: Moments, gradient: Float64Array, rule: StepRule): Stepped {
  const norm = Math.sqrt(gradient.reduce((sum, g) => sum + g * g, 0));
  if (!Number.isFinite(norm)) return { kind: 'skipped', values, moments, norm };
  const scale = norm > rule.clipNorm ? rule.clipNorm / norm : 1;
  const steps = moments.steps + 1;
  if (rule.optimiser === 'sgd') {
    const moved = values.map((value, i) => value - rule.learningRate * scale * (gradient[i] ?? 0));
    return { kind: 'stepped', values: moved, moments: { ...moments, steps }, norm };
  }
  const first = moments.first.map((m, i) => DECAY_FIRST * m + (1 - DECAY_FIRST) * scale * (gradient[i] ?? 0));
  const second = moments.second.map((v, i) => DECAY_SECOND * v + (1 - DECAY_SECOND) * (scale * (gradient[i] ?? 0)) ** 2);
  const [unbiasFirst, unbiasSecond] = [1 - DECAY_FIRST ** steps, 1 - DECAY_SECOND ** steps];
  const moved = values.map((value, i) => {
    const root = Math.sqrt((second[i] ?? 0) / unbiasSecond);
    return value - (rule.learningRate * ((first[i] ?? 0) / unbiasFirst)) / (root + EPSILON);
  });
  return { kind: 'stepped', values: moved, moments: { steps, first, second }, norm };
}
