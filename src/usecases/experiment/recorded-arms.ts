import type { Options } from '../../domain/experiment/change-options.ts';
import type { StageRecord } from '../../projections/experiment-stages/read-stages.ts';
import type { Experiment } from './declaration/experiment.ts';

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
