import type { Options } from '../../../domain/experiment/change-options.ts';
import type { ExperimentFields } from './experiment-fields.ts';
import type { OptionsOf, STAGE_FIELDS, StageKind } from './stage-fields.ts';

/** A stage of one arm, its options checked. */
export type PlannedStage = { readonly [Form in keyof typeof STAGE_FIELDS]: PlannedStageOf<Form> }[keyof typeof STAGE_FIELDS];

export interface PlannedStageOf<Form extends keyof typeof STAGE_FIELDS> {
  readonly name: string;
  readonly kind: StageKind;
  /** `clone` is a `train` on a released file. */
  readonly form: Form;
  readonly options: OptionsOf<Form>;
  /** The stages that it uses, by the option that names them. */
  readonly uses: Readonly<Record<string, string>>;
}

/** An arm: what differs in it, and the stages that it needs, each behind those that it uses. */
export interface PlannedArm {
  readonly name: string;
  readonly overrides: Readonly<Record<string, Options>>;
  readonly stages: readonly PlannedStage[];
}

/** An experiment whose parts go together. */
export interface Experiment extends Omit<ExperimentFields, 'seeds' | 'arms' | 'baseline' | 'stages'> {
  /** As it was declared: what is recorded, and run again with other options. */
  readonly declared: Options;
  readonly seeds: readonly number[];
  readonly arms: readonly PlannedArm[];
  /** The arm that the others are compared with. */
  readonly baseline: string;
}

/** What is wrong with a declaration: the first field, with dots between names, and what to do. */
export interface ExperimentRefusal {
  readonly kind: 'refused';
  readonly field: string;
  readonly message: string;
  readonly remedy: string;
}

/** A declaration cannot be run. */
export class ExperimentRefused extends Error {
  override readonly name = 'ExperimentRefused';
  constructor({ field, message, remedy }: Omit<ExperimentRefusal, 'kind'>) {
    super(`${field === '' ? 'the declaration' : field}: ${message}; ${remedy}`);
  }
}
