import { z } from 'zod';
import type { Options } from '../../../domain/experiment/change-options.ts';
import { name } from '../../../events/schemas/values.ts';
import { collectPlan } from '../../collect/plan.ts';
import { stageName } from '../stages/option-fields.ts';
import { type Form, type OptionsOf, STAGES, type StageKind } from '../stages/stages.ts';

const armName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9 ._=,+:-]{0,199}$/,
    'must be 1 to 200 letters, digits, spaces and . _ = , + : -, the first a letter or digit',
  );
const options = z.record(z.string(), z.unknown());

/** A whole experiment, as its file declares it: what is done, of what, how often, and what is compared. */
export const experimentFields = z.strictObject({
  name: name.describe('Name of the experiment.'),
  question: z.string().max(10_000).default('').describe('Question that it answers.'),
  environment: collectPlan.shape.environment
    .optional()
    .describe('Environment of all stages that name none, as `--environment` takes it.'),
  seeds: z
    .union([z.int().min(1).max(1_000), z.array(z.int().min(0)).min(1).max(1_000)], {
      error: 'must be a number of repetitions, or a list of seeds',
    })
    .default(1)
    .describe('Repetitions: how many (with the seeds 1, 2, …), or the list of their seeds. Arms are compared seed by seed.'),
  concurrency: z.int().min(1).max(10_000).default(8).describe('Trees, or tasks, at a time. Results do not depend on it.'),
  stages: z
    .record(stageName, options)
    .describe('Stages by name, each with its options. A stage may have the name of its kind, or says it as `stage`.'),
  arms: z
    .record(armName, z.record(stageName, options))
    .optional()
    .describe('What is compared: by name, the options that differ in some stages. Left out, there is one arm, `main`.'),
  baseline: armName.optional().describe('Arm that the others are compared with; the first when left out.'),
});
export type ExperimentFields = z.output<typeof experimentFields>;

/** A stage of one arm, its options checked. */
export type PlannedStage = { readonly [F in Form]: PlannedStageOf<F> }[Form];

interface PlannedStageOf<F extends Form> {
  readonly name: string;
  readonly kind: StageKind;
  /** `clone` is a `train` on a released file. */
  readonly form: F;
  readonly options: OptionsOf<F>;
  /** The stages that it uses, by the option that names them. */
  readonly uses: Readonly<Record<string, string>>;
}

/** An arm: what differs in it, and the stages that it needs, each after those that it uses. */
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

/** A declaration cannot be run: the field, with dots between names, what is wrong, and what to do. */
export class ExperimentRefused extends Error {
  override readonly name = 'ExperimentRefused';
  constructor(field: string, message: string, remedy: string) {
    super(`${field === '' ? 'the declaration' : field}: ${message}; ${remedy}`);
  }
}

const DESCRIPTION = 'An experiment: the file of `espalier experiment run`.';

/** Returns the JSON Schema (draft 2020-12) of a declaration, with the options of every kind of stage under `$defs`. */
export function experimentSchema(): Readonly<Record<string, unknown>> {
  const { properties = {}, ...schema } = z.toJSONSchema(experimentFields, { io: 'input' });
  const { stages, ...others } = properties;
  return {
    title: 'Experiment',
    description: DESCRIPTION,
    ...schema,
    properties: { ...others, stages: { ...object(stages), additionalProperties: { anyOf: stageRefs() } } },
    $defs: stageSchemas(),
  };
}

/** The JSON Schemas of the stages; `train on a released file` has one of its own. */
export function stageSchemas(): Readonly<Record<string, object>> {
  const entries = Object.entries(STAGES).map(([form, { fields }]) => {
    const { required = [], $schema: _, ...schema } = z.toJSONSchema(fields, { io: 'input', unrepresentable: 'any' });
    return [form, { ...schema, required: required.filter((name) => name !== 'stage') }] as const;
  });
  return Object.fromEntries(entries);
}

function stageRefs(): readonly object[] {
  return Object.keys(STAGES).map((form) => ({ $ref: `#/$defs/${form}` }));
}

function object(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
