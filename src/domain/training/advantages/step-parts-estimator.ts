import { choiceOption, numberOption, refuseOption } from '../method-options.ts';
import { at, rowAt, spreadScalars } from '../rows/rows.ts';
import { positionsByKey } from '../statistics/groups.ts';
import { measure, sumOf } from '../statistics/masked.ts';
import { closedGroups, defineEstimator, type EstimatorBatch, type StepPart } from './estimator.ts';
import { scoreRows } from './members.ts';

/**
 * GRPO over the steps of a task, each scored by the return of its episode and by what it got itself, for compression and for a
 * broken form (AgentOCR, specification §2.3 and §3.4). `parts: summed` standardises the sum, as published; `decoupled` each part
 * by itself, so that none drowns another (GDPO, arXiv 2601.05242). `scale` is what deviations of a group are divided by.
 */
export const stepPartsEstimator = defineEstimator({
  name: 'step_parts_grpo',
  revision: '1',
  options: {
    parts: choiceOption('summed', 'decoupled'),
    scale: choiceOption('deviation', 'floored-deviation', 'none'),
    epsilon: numberOption(1e-6, 0, 1),
    floor: numberOption(0.1, 0, 1_000),
    whiten: choiceOption('none', 'batch'),
  },
  readiness: () => ({ ...closedGroups('raw'), columns: ['stepParts'] }),
  reach: ({ whiten }) => (whiten === 'batch' ? 'batch' : 'group'),
  estimate(batch, { parts, scale, epsilon, floor, whiten }) {
    if (batch.stepParts === null) return refuseOption('it needs stepParts');
    const scaling: Scaling = scale === 'none' ? { kind: scale } : { kind: scale, epsilon, floor };
    const scores = scoreAllParts(batch, batch.stepParts);
    const groups = [...positionsByKey(batch.groups).values()];
    const ofGroups = groups.map((rows) => {
      const of = (part: ScoredPart) => rows.map((row) => at(part.values, row));
      if (parts === 'summed')
        return standardiseGroup(
          rows.map((row) => scoreOf(scores, row)),
          scaling,
        );
      return decoupledAdvantages(Object.values(scores).map((part) => ({ values: of(part), weight: part.weight, scaling })));
    });
    const advantages = new Float64Array(batch.groups.length);
    const final = whiten === 'batch' ? whitenBatch(ofGroups, epsilon) : ofGroups;
    for (const [g, rows] of groups.entries()) for (const [i, row] of rows.entries()) advantages[row] = at(rowAt(final, g), i);
    const spread = spreadScalars(advantages, batch.masks);
    return { advantages: spread, returns: spread };
  },
});

interface ScoredPart {
  readonly weight: number;
  /** One for each row. */
  readonly values: ArrayLike<number>;
}

interface ScoredParts {
  /** The return of the episode without what single steps got for themselves. */
  readonly task: ScoredPart;
  readonly compression: ScoredPart;
  readonly invalid: ScoredPart;
}

function scoreAllParts({ rewards, masks, trajectories }: EstimatorBatch, stepParts: readonly StepPart[]): ScoredParts {
  const none = { weight: 0, values: new Float64Array(masks.length) };
  const compression = stepParts.find(({ component }) => component === 'compression') ?? none;
  const invalid = stepParts.find(({ component }) => component === 'invalid-action') ?? none;
  const own = scoreRows(rewards, masks, 'all-tokens').map(
    (score, row) => score - compression.weight * at(compression.values, row) - invalid.weight * at(invalid.values, row),
  );
  const task = new Float64Array(masks.length);
  for (const rows of positionsByKey(trajectories).values()) {
    const total = sumOf(rows.map((row) => at(own, row)));
    for (const row of rows) task[row] = total;
  }
  return { task: { weight: 1, values: task }, compression, invalid };
}

function scoreOf({ task, compression, invalid }: ScoredParts, row: number): number {
  return totalScore({
    task: at(task.values, row),
    compression: compression.weight * at(compression.values, row),
    invalid: invalid.weight * at(invalid.values, row),
  });
}

/** One reward component over one group, value by value in the order of the group's samples. */
export interface Component {
  readonly values: readonly number[];
  /** The component's share of the advantage; it acts after the scaling, so no division cancels it. */
  readonly weight: number;
  readonly scaling: Scaling;
}

/**
 * Scales every component of a group's reward by itself and adds the weighted results: `A_i = Σ_k w_k · (r_ki − m_k) / d_k` (GDPO,
 * group reward-decoupled normalisation, arXiv 2601.05242). Standardising the sum instead lets the loudest component drown the
 * rest in a mixed group and the quietest one fill an otherwise equal group (specification of AgentOCR, §2.4); here compression
 * weighs `w` in both. @throws RangeError when components differ in length.
 */
export function decoupledAdvantages(components: readonly Component[]): number[] {
  const length = components[0]?.values.length ?? 0;
  const total = new Array<number>(length).fill(0);
  for (const { values, weight, scaling } of components) {
    if (values.length !== length) throw new RangeError(`a component has ${values.length} values where the first has ${length}`);
    standardiseGroup(values, scaling).forEach((advantage, i) => {
      total[i] = (total[i] ?? 0) + weight * advantage; // i < length: every slot is filled
    });
  }
  return total;
}

/**
 * Whitens the advantages of a whole batch: `(A − mean) / (deviation + ε)` over all samples of all groups. GDPO's last step: it
 * keeps the scale of an update apart from the number of components and their weights. The ratio of two components stays as it is.
 */
export function whitenBatch(advantages: readonly (readonly number[])[], epsilon: number): number[][] {
  const flat = standardiseGroup(advantages.flat(), { kind: 'deviation', epsilon });
  let next = 0;
  return advantages.map((group) => group.map(() => flat[next++] ?? 0)); // flat has one value for each
}

/** How the scores of one group are made comparable. */
export type Scaling =
  /** GRPO: `(s − m) / (d + ε)`; m the mean, d the deviation of the sample (n − 1). */
  | { readonly kind: 'deviation'; readonly epsilon: number }
  /** The same with a floor under the deviation: `(s − m) / (max(d, floor) + ε)`. */
  | { readonly kind: 'floored-deviation'; readonly epsilon: number; readonly floor: number }
  /** Dr. GRPO (arXiv 2503.20783): `s − m`. */
  | { readonly kind: 'none' };

/** As published (specification of AgentOCR, §3.4). */
export const PUBLISHED_SCALING: Scaling = { kind: 'deviation', epsilon: 1e-6 };

/**
 * Turns the scores of one group (all steps of all rollouts of one task) into advantages. A group of one has no mean to be better
 * than: its score counts whole, over `1 + ε` where deviations divide (m = 0, d = 1 as published); equal scores give zeros.
 *
 * Division by d alone makes the weight of a small component meaningless: where every rollout succeeds, `λ·ln(cf)` is the only
 * difference left, λ cancels, and cf = 5 among 1.1, 1.2, 1.3 gets +1.49 whatever λ is (§2.4). A floor of the size of the
 * differences that matter, such as the task's reward over ten, keeps a group that differs in little from shouting. @throws
 * RangeError for a negative ε or floor.
 */
export function standardiseGroup(scores: readonly number[], scaling: Scaling): number[] {
  if (scaling.kind !== 'none' && !(scaling.epsilon >= 0)) throw new RangeError(`epsilon is 0 or more, not ${scaling.epsilon}`);
  if (scaling.kind === 'floored-deviation' && !(scaling.floor >= 0))
    throw new RangeError(`a floor is 0 or more, not ${scaling.floor}`);
  const { mean, deviation } = scores.length === 1 ? { mean: 0, deviation: 1 } : measure(scores);
  const divisor = divisorOf(deviation, scaling);
  // Equal scores are zeros even where ε is 0: 0 / 0 is no advantage.
  return scores.map((score) => (score === mean ? 0 : (score - mean) / divisor));
}

function divisorOf(deviation: number, scaling: Scaling): number {
  switch (scaling.kind) {
    case 'deviation':
      return deviation + scaling.epsilon;
    case 'floored-deviation':
      return Math.max(deviation, scaling.floor) + scaling.epsilon;
    case 'none':
      return 1;
    default:
      return scaling satisfies never;
  }
}

/** What one step of an episode is scored by; each part is recorded by itself, so that any other sum can be made later. */
interface ScoreParts {
  /** The whole episode's return, which every one of its steps is given. */
  readonly task: number;
  /** `factorReward` or `tokensSavedReward`; may be 0. */
  readonly compression: number;
  /** What a step without a valid action loses; 0 or below. */
  readonly invalid: number;
}

/** What an invalid action costs in the published runs (specification of AgentOCR, §3.4). */
export const INVALID_PENALTY = { alfworld: 0.1, search: 0.01 } as const;

/**
 * Takes a step's score apart: the return of its episode, its compression reward, and `−penalty` where its action was not valid.
 */
export function scoreParts(step: {
  readonly episodeReturn: number;
  readonly compression: number;
  readonly valid: boolean;
  readonly penalty: number;
}): ScoreParts {
  return { task: step.episodeReturn, compression: step.compression, invalid: step.valid ? 0 : -step.penalty || 0 };
}

/** Adds the parts up as published: the score that is put on the last token of the step's answer. */
export function totalScore({ task, compression, invalid }: ScoreParts): number {
  return task + compression + invalid;
}
