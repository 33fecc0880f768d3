import {
  type ChosenOptions,
  chooseOptions,
  type Mode,
  type OptionRules,
  type RefusedOption,
  refuseOption,
} from '../method-options.ts';
import { at, findMisfit, type Masks, type Rows } from '../rows/rows.ts';
import { positionsByKey, type Singleton } from '../statistics/groups.ts';
import { countMasked } from '../statistics/masked.ts';

/**
 * The rows of one update as an estimator sees them. A row is a whole trajectory (verl) or one step of it (Agent-R1 v0.1): then
 * `trajectories` and `steps` say how the rows belong together. Per-row columns have one entry for each row. A column that was not
 * recorded is null.
 */
export interface EstimatorBatch {
  /** Token rewards: the outcome is on the last token of its row, process rewards where they were earned. */
  readonly rewards: Rows;
  readonly masks: Masks;
  /** The prompt group of each row: the members of one tree that branch at its root. */
  readonly groups: readonly string[];
  readonly trajectories: readonly string[];
  /** Each row's place in its trajectory; unique there. */
  readonly steps: ArrayLike<number>;
  /** The critic's value *before* each token. */
  readonly values: Rows | null;
  /**
   * The value of the state after a row's last token: 0 where the environment ended the episode, V(s_T) where a limit cut it.
   * Null: 0 everywhere.
   */
  readonly bootstraps: ArrayLike<number> | null;
  /** The state before each row's action, as text or as its hash. */
  readonly anchors: readonly string[] | null;
  /**
   * The reward of each row's own step, where `rewards` carries the episode's score in every row (verl-agent). Null: the sum of
   * the row's rewards.
   */
  readonly stepRewards: ArrayLike<number> | null;
  /** What steps got for themselves, by component; null where nobody keeps components apart. */
  readonly stepParts: readonly StepPart[] | null;
  /** The score of the greedy sibling of each row's prompt. */
  readonly greedyScores: ArrayLike<number> | null;
  /** log π of each token at the start of the update. */
  readonly oldLogProbs: Rows | null;
  /** Σ π² over the whole distribution that each token was drawn from. */
  readonly squaredProbs: Rows | null;
  /** Importance weights of the rollout correction; null: there is none. */
  readonly rolloutWeights: Rows | null;
}

export type Column = 'values' | 'anchors' | 'stepRewards' | 'stepParts' | 'greedyScores' | 'oldLogProbs' | 'squaredProbs';

/** A reward component of steps: one value for each row, which counts `weight` times in the row's rewards. */
export interface StepPart {
  readonly component: string;
  readonly weight: number;
  readonly values: ArrayLike<number>;
}

/** Which rows the advantages of a row follow from: those of its group, or all of its batch. */
export type Reach = 'group' | 'batch';

/** What a batch must have before it can be planned for an estimator. */
export interface Readiness {
  /**
   * `rows`: any rows will do. `closed-groups`: a row is ready when every member of its group is terminal. `greedy-sibling`: when
   * its prompt's greedy rollout is.
   */
  readonly waitsFor: 'rows' | 'closed-groups' | 'greedy-sibling';
  /** Columns that are computed or recorded for every row. `values` may come from a critic pass of the trainer. */
  readonly columns: readonly Column[];
  /** Members that a group must have at least (trajectories, not rows). */
  readonly groupSize: number;
  /** Trained tokens that the batch must hold at least: whitening one value divides by zero. */
  readonly trainedTokens: number;
  /** Steps that it must hold at least: where steps are whitened, the tokens of one step are one value. */
  readonly trainedSteps: number;
  /** Whether the estimator must know a truncated end from a terminated one. */
  readonly ends: 'needed' | 'not-needed';
}

export const ANY_ROWS: Readiness = {
  waitsFor: 'rows',
  columns: [],
  groupSize: 1,
  trainedTokens: 0,
  trainedSteps: 0,
  ends: 'not-needed',
};

export interface Estimated {
  readonly kind: 'estimated';
  readonly advantages: Rows;
  readonly returns: Rows;
}

/**
 * An estimator with its options chosen. `name`, `revision` and `mode` are what an update records: together they identify the
 * computation.
 */
export interface ConfiguredEstimator {
  readonly name: string;
  readonly revision: string;
  readonly mode: Mode;
  readonly readiness: Readiness;
  readonly reach: Reach;
  /** Computes advantages and returns per token; refuses a batch that does not have what the estimator needs. */
  estimate(batch: EstimatorBatch): Estimated | RefusedOption;
}

export interface Estimator {
  readonly name: string;
  /** Changes when the numbers change. */
  readonly revision: string;
  readonly options: OptionRules;
  configure(
    given: Readonly<Record<string, unknown>>,
  ): { readonly kind: 'configured'; readonly estimator: ConfiguredEstimator } | RefusedOption;
}

interface Definition<R extends OptionRules> {
  readonly name: string;
  readonly revision: string;
  readonly options: R;
  readiness(options: ChosenOptions<R>): Readiness;
  reach(options: ChosenOptions<R>): Reach;
  estimate(batch: EstimatorBatch, options: ChosenOptions<R>): Omit<Estimated, 'kind'> | RefusedOption;
}

/** Makes an estimator of its rules: options are checked once, and every batch against the readiness before it is computed. */
export function defineEstimator<const R extends OptionRules>(definition: Definition<R>): Estimator {
  const { name, revision, options: rules } = definition;
  return {
    name,
    revision,
    options: rules,
    configure(given) {
      const options = chooseOptions(rules, given);
      if (options.kind === 'refused') return refuseOption(`estimator ${name}: ${options.reason}`);
      const [readiness, reach] = [definition.readiness(options.options), definition.reach(options.options)];
      const estimate = (batch: EstimatorBatch): Estimated | RefusedOption => {
        const unready = findMalformed(batch) ?? findUnready(batch, readiness);
        if (unready !== null) return refuseOption(`${name} cannot take this batch: ${unready}`);
        const found = definition.estimate(batch, options.options);
        return 'kind' in found ? found : { kind: 'estimated', ...found };
      };
      return { kind: 'configured', estimator: { name, revision, mode: options.mode, readiness, reach, estimate } };
    },
  };
}

/** The readiness of an estimator that compares the members of a group. */
export function closedGroups(singleton: Singleton): Readiness {
  return { ...ANY_ROWS, waitsFor: 'closed-groups', groupSize: singleton === 'forbidden' ? 2 : 1 };
}

function findUnready(batch: EstimatorBatch, { columns, groupSize, trainedTokens, trainedSteps }: Readiness): string | null {
  const missing = columns.find((column) => batch[column] === null);
  if (missing !== undefined) return `it has no ${missing}`;
  for (const [group, rows] of positionsByKey(batch.groups)) {
    const members = new Set(rows.map((row) => batch.trajectories[row])).size;
    if (members < groupSize) return `group ${group} has ${members} member, ${groupSize} are needed`;
  }
  if (batch.masks.length < trainedSteps) return `it has ${batch.masks.length} steps, ${trainedSteps} are needed`;
  const trained = countMasked(batch.masks);
  return trained < trainedTokens ? `it has ${trained} trained tokens, ${trainedTokens} are needed` : null;
}

function findMalformed(batch: EstimatorBatch): string | null {
  const { masks, rewards, values, oldLogProbs, squaredProbs, rolloutWeights, stepParts, ...perRow } = batch;
  if (masks.length === 0) return 'it has no row';
  for (const [name, rows] of Object.entries({ rewards, values, oldLogProbs, squaredProbs, rolloutWeights })) {
    const misfit = rows === null ? null : findMisfit(name, rows, masks);
    if (misfit !== null) return misfit;
  }
  for (const [name, column] of Object.entries(perRow)) {
    if (column !== null && column.length !== masks.length) return `${name} has ${column.length} entries for ${masks.length} rows`;
  }
  for (const { component, values: own } of stepParts ?? []) {
    if (own.length !== masks.length) return `component ${component} has ${own.length} entries for ${masks.length} rows`;
  }
  const broken = rewards.findIndex((row) => !row.every(Number.isFinite));
  if (broken !== -1) return `row ${broken} has a reward that is not finite`;
  const places = new Set<string>();
  const groupOf = new Map<string, string | undefined>();
  for (const [row, trajectory] of perRow.trajectories.entries()) {
    const group = perRow.groups[row];
    if (groupOf.has(trajectory) && groupOf.get(trajectory) !== group) return `trajectory ${trajectory} is in two groups`;
    groupOf.set(trajectory, group);
    const place = `${at(perRow.steps, row)} of trajectory ${trajectory}`;
    if (places.has(place)) return `two rows are step ${place}`;
    places.add(place);
  }
  return null;
}
