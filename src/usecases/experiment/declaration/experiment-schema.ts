import { z } from 'zod';
import { experimentFields } from './experiment.ts';
import { STAGE_FIELDS } from './stage-fields.ts';

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
  const entries = Object.entries(STAGE_FIELDS).map(([form, fields]) => {
    const { required = [], $schema: _, ...schema } = z.toJSONSchema(fields, { io: 'input', unrepresentable: 'any' });
    return [form, { ...schema, required: required.filter((name) => name !== 'stage') }] as const;
  });
  return Object.fromEntries(entries);
}

function stageRefs(): readonly object[] {
  return Object.keys(STAGE_FIELDS).map((form) => ({ $ref: `#/$defs/${form}` }));
}

function object(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
