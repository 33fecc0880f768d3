import {
  BOOTSTRAP_DEFAULTS,
  type Cell,
  cellsOf,
  crossedInterval,
  type Interval,
  pairedCells,
} from '../../domain/evaluation/bootstrap-interval.ts';
import type { Options } from '../../domain/experiment/change-options.ts';
import type { Db } from '../../postgres/database.ts';
import { readTaskResults } from '../../projections/analysis/read-task-results.ts';
import { readExperimentPlans, readStages, type StageRecord } from '../../projections/experiment-stages/read-stages.ts';
import type { Experiment } from './declaration/experiment.ts';
import { type DeclaredExperiment, declaredOf } from './record-experiment.ts';

/** A mean and its interval over tasks and repetitions. */
export interface Estimate {
  readonly mean: number;
  readonly interval: Interval;
}

/** What an arm came to, as one of its stages measured it. */
export interface ArmResult {
  readonly arm: string;
  readonly stage: string;
  /** Repetitions that were measured. */
  readonly seeds: number;
  readonly success: Estimate | null;
  readonly return: Estimate | null;
  /** Means over the repetitions of what the stage recorded. */
  readonly values: Readonly<Record<string, number>>;
  /** What it has more than the arm that it is compared with, paired by task and seed; null for that arm itself. */
  readonly difference: {
    readonly to: string;
    readonly pairs: number;
    readonly success: Estimate | null;
    readonly return: Estimate | null;
  } | null;
}

interface MeasuredArm {
  readonly arm: string;
  readonly stage: string;
  readonly records: readonly StageRecord[];
  readonly success: readonly Cell[];
  readonly return: readonly Cell[];
}

/**
 * Sums up what is recorded of an experiment: where it repeats one that is on record, next to that, each arm against the same arm
 * before; else each arm against its baseline. @throws ExperimentRefused where this version cannot read what was repeated.
 */
export async function reportOf(db: Db, declared: DeclaredExperiment): Promise<readonly ArmResult[]> {
  const [before] = declared.rerunOf === null ? [] : await readExperimentPlans(db, [declared.rerunOf]);
  const earlier = before && (await measuredArms(db, declaredOf(before))).map((one) => ({ ...one, arm: `${one.arm} (before)` }));
  const now = await measuredArms(db, declared);
  const otherOf = ({ arm, stage }: MeasuredArm) => {
    const [among, name] = earlier ? [earlier, `${arm} (before)`] : [now, declared.experiment.baseline];
    return among.find((each) => each.arm === name && each.stage === stage);
  };
  return [...(earlier ?? []).map((one) => resultOf(one, undefined)), ...now.map((one) => resultOf(one, otherOf(one)))];
}

/** The stages that say what an arm achieved: evaluations, else its rollouts. */
function measuringStages({ arms }: Experiment): readonly string[] {
  const stages = arms.flatMap((arm) => arm.stages);
  const measuring = stages.filter(({ kind }) => kind === 'evaluate');
  const shown = measuring.length > 0 ? measuring : stages.filter(({ kind }) => kind === 'collect' || kind === 'search');
  return [...new Set(shown.map(({ name }) => name))];
}

async function measuredArms(db: Db, { experimentId, experiment }: DeclaredExperiment): Promise<readonly MeasuredArm[]> {
  const stages = measuringStages(experiment);
  const records = (await readStages(db, [experimentId])).filter(({ outcome }) => outcome === 'completed');
  const measured: MeasuredArm[] = [];
  for (const stage of stages)
    for (const { name: arm, stages: own } of experiment.arms) {
      if (!own.some(({ name }) => name === stage)) continue;
      const ofArm = records.filter(
        (record) => record.arm === arm && record.stage === stage && experiment.seeds.includes(record.seed),
      );
      measured.push({ arm, stage, records: ofArm, ...(await cellsOfRecords(db, ofArm)) });
    }
  return measured;
}

async function cellsOfRecords(db: Db, records: readonly StageRecord[]): Promise<Pick<MeasuredArm, 'success' | 'return'>> {
  const success: Cell[] = [];
  const returns: Cell[] = [];
  for (const { seed, output } of records) {
    const runId = output?.runIds.at(-1);
    if (runId === undefined) continue;
    for (const { taskId: task, successRate, meanReturn } of await readTaskResults(db, [runId])) {
      if (successRate !== null) success.push({ task, seed, value: successRate });
      if (meanReturn !== null) returns.push({ task, seed, value: meanReturn });
    }
  }
  return { success: cellsOf(success), return: cellsOf(returns) };
}

function resultOf(one: MeasuredArm, other: MeasuredArm | undefined): ArmResult {
  const { arm, stage, records } = one;
  const compared = other && other.arm !== arm ? other : null;
  const pairs = compared && pairedCells(compared.success, one.success);
  return {
    arm,
    stage,
    seeds: records.length,
    success: estimate(one.success),
    return: estimate(one.return),
    values: meansOf(records),
    difference:
      compared && pairs && pairs.length > 0
        ? {
            to: compared.arm,
            pairs: pairs.length,
            success: estimate(pairs),
            return: estimate(pairedCells(compared.return, one.return)),
          }
        : null,
  };
}

function estimate(cells: readonly Cell[]): Estimate | null {
  return crossedInterval(cells, { ...BOOTSTRAP_DEFAULTS, seed: 1 });
}

function meansOf(records: readonly StageRecord[]): Readonly<Record<string, number>> {
  const names = new Set(records.flatMap(({ output }) => Object.keys(output?.values ?? {})));
  return Object.fromEntries(
    [...names].map((name) => {
      const values = records.flatMap(({ output }) => output?.values[name] ?? []);
      return [name, values.reduce((sum, value) => sum + value, 0) / values.length];
    }),
  );
}

/** A stage in an arm and a repetition, with how it ended; null while it did not. */
export interface RecordedStage {
  readonly arm: string;
  readonly seed: number;
  readonly name: string;
  readonly kind: string;
  readonly record: StageRecord | null;
}

/** An arm with its stages, repetition by repetition. */
export interface RecordedArm {
  readonly name: string;
  readonly isBaseline: boolean;
  readonly overrides: Readonly<Record<string, Options>>;
  readonly repetitions: readonly number[];
  readonly stages: readonly RecordedStage[];
}

/** Puts the recorded ends of stages where an experiment has them. */
export function recordedArms({ arms, seeds, baseline }: Experiment, records: readonly StageRecord[]): readonly RecordedArm[] {
  const recordAt = new Map(records.map((record) => [placeOf(record.arm, record.seed, record.stage), record]));
  return arms.map(({ name: arm, overrides, stages }) => ({
    name: arm,
    isBaseline: arm === baseline,
    overrides,
    repetitions: seeds,
    stages: seeds.flatMap((seed) =>
      stages.map(({ name, kind }) => ({ arm, seed, name, kind, record: recordAt.get(placeOf(arm, seed, name)) ?? null })),
    ),
  }));
}

/** The arms that have stages on record, of an experiment whose declaration this version cannot read. */
export function armsOfRecords(records: readonly StageRecord[]): readonly RecordedArm[] {
  return [...new Set(records.map(({ arm }) => arm))].map((name) => {
    const own = records.filter(({ arm }) => arm === name);
    const repetitions = [...new Set(own.map(({ seed }) => seed))].sort((a, b) => a - b);
    const stages = repetitions.flatMap((seed) =>
      own
        .filter((record) => record.seed === seed)
        .map((record) => ({ arm: name, seed, name: record.stage, kind: record.kind, record })),
    );
    return { name, isBaseline: false, overrides: {}, repetitions, stages };
  });
}

function placeOf(arm: string, seed: number, stage: string): string {
  return JSON.stringify([arm, seed, stage]);
}
