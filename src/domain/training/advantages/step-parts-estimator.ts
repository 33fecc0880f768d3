import { decoupledAdvantages, whitenBatch } from '../../compression/decoupled-advantages.ts';
import { type Scaling, standardiseGroup } from '../../compression/standardise-group.ts';
import { totalScore } from '../../compression/step-score.ts';
import { choiceOption, numberOption, refused } from '../options.ts';
import { at, rowAt, spreadScalars } from '../rows/rows.ts';
import { positionsByKey } from '../statistics/groups.ts';
import { sumOf } from '../statistics/sum.ts';
import { closedGroups, defineEstimator, type EstimatorBatch, type StepPart } from './estimator.ts';
import { scoreRows } from './row-scores.ts';

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
    if (batch.stepParts === null) return refused('it needs stepParts');
    const scaling: Scaling = scale === 'none' ? { kind: scale } : { kind: scale, epsilon, floor };
    const scores = scoreParts(batch, batch.stepParts);
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

function scoreParts({ rewards, masks, trajectories }: EstimatorBatch, stepParts: readonly StepPart[]): ScoredParts {
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
