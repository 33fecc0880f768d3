/** What Adam (Kingma & Ba 2015) remembers: how many steps were taken, and the running means of the gradient and of its square. */
export interface Moments {
  readonly steps: number;
  readonly first: Float64Array;
  readonly second: Float64Array;
}

export interface StepRule {
  readonly optimiser: 'adam' | 'sgd';
  readonly learningRate: number;
  readonly clipNorm: number;
}

export interface Stepped {
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

export function noMoments(size: number): Moments {
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
