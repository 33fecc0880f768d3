import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Command, type Option } from 'commander';
import { readTypeDefs } from '../../graphql/type-defs.ts';
import { COMMANDS } from '../../src/cli/commands.ts';
import { describeEnvironments } from '../../src/environments/open-environment.ts';
import { catalogue, type EventType } from '../../src/events/catalogue.ts';
import { jsonSchemas } from '../../src/events/json-schema.ts';
import { VARIABLES } from '../../src/runtime/config.ts';
import { experimentSchema, stageSchemas } from '../../src/usecases/experiment/declaration/experiment.ts';
import { declarationSchema, METHOD_SCHEMAS } from '../../src/usecases/train/declaration/declaration-schema.ts';
import { PRESETS } from '../../src/usecases/train/declaration/presets.ts';
import { httpReference } from './http-reference.ts';
import { cell, codeCell, findObject, type Schema, SHARED, tableOf } from './schema-table.ts';

const FOLDER = fileURLToPath(new URL('../../docs/reference/', import.meta.url));

/** Returns the pages of the reference by file name, made from the code. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  return {
    'cli.md': await cliReference(),
    'configuration.md': configurationReference(),
    'declaration.md': declarationReference(),
    'environments.md': environmentReference(),
    'events.md': eventReference(),
    'graphql.md': `# GraphQL schema\n\n\`\`\`graphql\n${(await readTypeDefs()).trim()}\n\`\`\`\n`,
    'experiment.md': experimentReference(),
    'http.md': await httpReference(),
  };
}

function configurationReference(): string {
  const rows = Object.entries(VARIABLES).map(([name, { unset, about }]) => `| \`${name}\` | ${cell(unset)} | ${cell(about)} |`);
  return [
    '# Configuration\n',
    'An empty variable counts as unset; a value that cannot be used is an error that names it.\n',
    '| variable | default | |',
    '|---|---|---|',
    ...rows,
    '| `ESPALIER_SECRET_NAME` | the file that ESPALIER_SECRET_NAME_FILE names, or secrets/NAME in ESPALIER_HOME | value of the secret that an address or a policy calls `secret:NAME` |',
    '',
  ].join('\n');
}

function environmentReference(): string {
  const sections = describeEnvironments().map(({ name, form, summary, options }) => {
    const rows = options.map(
      ({ key, value, usual, description }) =>
        `| \`${key}\` | ${codeCell(value)} | ${usual === null ? '' : codeCell(usual)} | ${cell(description)} |`,
    );
    const table = ['| option | value | default | |', '|---|---|---|---|', ...rows].join('\n');
    return `## ${name}\n\n\`${form}\`: ${summary}.\n\n${table}\n`;
  });
  return ['# Environments\n', 'What `--environment` may name; `espalier environments` prints the same.\n', ...sections].join(
    '\n',
  );
}

/** Returns the page of every command, its arguments and options, as commander knows them. */
export async function cliReference(): Promise<string> {
  const program = new Command('espalier').exitOverride();
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    (await load())(program);
    program.commands.find((command) => command.name() === name)?.description(summary);
  }
  const all = program.commands.flatMap((command) => [command, ...command.commands]);
  return [
    '# Command line\n',
    'Every command takes `--json` (results as JSON), `--debug` (the stack of an error) and `--help`.\n',
    ...all.map(page),
  ].join('\n');
}

function page(command: Command): string {
  const parent = command.parent?.name() === 'espalier' ? '' : `${command.parent?.name()} `;
  const depth = parent === '' ? '##' : '###';
  const args = command.registeredArguments.map((argument) => [
    codeCell(argument.required ? `<${argument.name()}>` : `[${argument.name()}]`),
    cell(argument.description),
    '',
  ]);
  const options = command.options.map((option) => [codeCell(option.flags), cell(option.description), cell(details(option))]);
  const rows = [...args, ...options].map((row) => `| ${row.join(' | ')} |`);
  const table = rows.length === 0 ? '' : `| | | |\n|---|---|---|\n${rows.join('\n')}\n`;
  return `${depth} espalier ${parent}${command.name()}\n\n${cell(command.description())}.\n\n${table}`;
}

function details(option: Option): string {
  const parts = [
    option.mandatory ? 'required' : '',
    option.argChoices ? `one of ${option.argChoices.join(', ')}` : '',
    option.defaultValue === undefined ? '' : `default ${option.defaultValueDescription ?? JSON.stringify(option.defaultValue)}`,
  ];
  return parts.filter((part) => part !== '').join('; ');
}

/**
 * Returns the page of every event type: what happened, topic, stream, and the fields of its data; before them what all events
 * share.
 */
function eventReference(): string {
  const schemas = jsonSchemas();
  const types = Object.keys(catalogue) as EventType[]; // the keys of the catalogue are the event types
  const read = types.map((type) => ({ type, schema: schemas[type] as Schema })); // a JSON Schema, read as far as named above
  return [
    '# Events\n',
    'The JSON Schema of a type: `espalier schemas TYPE`, `GET /v1/schemas`.\n',
    envelope(read[0]?.schema ?? {}),
    ...SHARED.map((shared) =>
      sharedSection(
        shared,
        read.map(({ schema }) => schema),
      ),
    ),
    ...read.map(({ type, schema }) => section(type, schema)),
  ].join('\n');
}

/** The fields of any event but its data. Two of them are literals in the schema of a type, whose values are left out here. */
function envelope({ required = [], properties = {} }: Schema): string {
  const { data: _, id = {}, type, schemaVersion, ...rest } = properties;
  const own = {
    id,
    type: { type: 'string', description: type?.description ?? '' },
    schemaVersion: { type: 'integer', description: schemaVersion?.description ?? '' },
  };
  const table = tableOf({ required, properties: { ...own, ...rest } });
  return `## Envelope\n\nThe fields besides \`data\`, which every event has.\n\n${table}`;
}

function sharedSection({ name, fields, about }: (typeof SHARED)[number], schemas: readonly Schema[]): string {
  const found = schemas.map((schema) => findObject(schema, fields)).find((object) => object !== undefined);
  if (!found) throw new Error(`no event has an object with the fields ${fields.join(', ')}`);
  return `## ${name[0]?.toUpperCase()}${name.slice(1)}\n\n${about}\n\n${tableOf(found)}`;
}

function section(type: EventType, schema: Schema): string {
  const data = schema.properties?.data ?? {};
  const { topic, stream } = catalogue[type];
  return `## ${type}\n\n${data.description} Topic \`${topic}\`; the stream is \`data.${stream}\`.\n\n${tableOf(data)}`;
}

const ABOUT = `The file of \`espalier experiment run\` and \`espalier sweep\`: YAML or JSON. Its JSON Schema: \`espalier schemas experiment\`. Unknown fields, stages that are not there, and stages that use each other in a circle are refused
before anything is run.
`;

const TITLES: Readonly<Record<string, string>> = {
  train: 'train, by rewards',
  clone: 'train, on a released file',
};

/** Returns the page of experiments: the fields of the file, and the options of every kind of stage. */
function experimentReference(): string {
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

const ABOUT_DECLARATION = `How a policy is trained, by Espalier or by a trainer elsewhere. The same declaration is the body of
\`PUT /v1/training/policies/{id}\` (scope \`train\`) and the file of \`espalier train --declaration\`. Its JSON Schema:
\`espalier schemas declaration\`, \`GET /v1/training/declaration.schema.json\`. A field that is left out comes from the preset, then
from the backend. An option that belongs to another estimator is refused, never ignored.
`;

/** Returns the page of the declaration: its fields, the estimators and losses with their options, and the presets. */
function declarationReference(): string {
  const { estimator, loss, ...others } = (declarationSchema() as Schema).properties ?? {};
  const plain = [estimator, loss].map((method) => ({ type: 'object', description: method?.description ?? '' }));
  const fields = { ...others, estimator: plain[0] ?? {}, loss: plain[1] ?? {} };
  return [
    '# Declarations of training\n',
    ABOUT_DECLARATION,
    `## Presets\n\nThe values of published recipes, which every field that a declaration names itself overrides.\n\n${Object.entries(
      PRESETS,
    )
      .map(([name, { summary, source, values }]) => `### ${name}\n\n${summary} Source: ${source}\n\n${json(values)}`)
      .join('\n')}`,
    `## Fields\n\n${tableOf({ properties: fields, required: [] })}`,
    `## Estimators\n\n${methods(METHOD_SCHEMAS.estimator as readonly Schema[])}`,
    `## Losses\n\n${methods(METHOD_SCHEMAS.loss as readonly Schema[])}`,
  ].join('\n');
}

function json(value: object): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\`\n`;
}

function methods(schemas: readonly Schema[]): string {
  const rows = schemas.flatMap(({ properties: { name, options } = {} }) => {
    const method = cell(`\`${String(name?.const)}\``);
    const own = Object.entries(options?.properties ?? {});
    if (own.length === 0) return [`| ${method} | | | |`];
    return own.map(
      ([option, rule]) => `| ${method} | \`${option}\` | ${cell(valuesOf(rule as Rule))} | ${cell(rule.description ?? '')} |`,
    );
  });
  return `| name | option | values | |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}

interface Rule extends Schema {
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Describes what an option may be; the default comes first. */
function valuesOf({ enum: words, minimum, maximum, default: usual }: Rule): string {
  if (words) return words.map((word) => `\`${String(word)}\``).join(', ');
  return `${String(usual)}; ${minimum} to ${maximum}`;
}

/** Writes the pages (`npm run docs:reference`); `npm run docs` and `npm run docs:build` begin with it. */
if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, page] of Object.entries(await referencePages())) await writeFile(`${FOLDER}${name}`, page);
