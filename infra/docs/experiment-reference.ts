import { experimentSchema, stageSchemas } from '../../src/usecases/experiment/declaration/experiment-schema.ts';
import { type Schema, tableOf } from './schema-table.ts';

const ABOUT = `The file of \`espalier experiment run\` and \`espalier sweep\`: YAML or JSON. Its JSON Schema: \`espalier schemas experiment\`. Unknown fields, stages that are not there, and stages that use each other in a circle are refused
before anything is run.
`;

const TITLES: Readonly<Record<string, string>> = {
  train: 'train, by rewards',
  clone: 'train, on a released file',
};

/** Returns the page of experiments: the fields of the file, and the options of every kind of stage. */
export function experimentReference(): string {
  const { properties = {} } = experimentSchema() as Schema;
  const plain = { ...properties, stages: { type: 'object', description: properties.stages?.description ?? '' } };
  return [
    '# Declarations of experiments\n',
    ABOUT,
    `## The file\n\n${tableOf(withDefaults({ properties: plain, required: ['name', 'stages'] }))}`,
    ...Object.entries(stageSchemas()).map(
      ([form, schema]) => `## Stage: ${TITLES[form] ?? form}\n\n${tableOf(withDefaults(schema as Schema))}`,
    ),
  ].join('\n');
}

/** Adds what a field is when it is left out to its description. */
function withDefaults({ properties = {}, ...schema }: Schema): Schema {
  const described = Object.entries(properties).map(([name, field]) => {
    const { default: usual } = field as { readonly default?: unknown };
    if (usual === undefined || usual === '') return [name, field] as const;
    return [name, { ...field, description: `${field.description ?? ''} ${JSON.stringify(usual)} when left out.` }] as const;
  });
  return { ...schema, properties: Object.fromEntries(described) };
}
