import { declarationSchema } from '../../src/usecases/train/declaration/declaration-schema.ts';
import { METHOD_SCHEMAS } from '../../src/usecases/train/declaration/method-schema.ts';
import { PRESETS } from '../../src/usecases/train/declaration/presets.ts';
import { cell, type Schema, tableOf } from './schema-table.ts';

const ABOUT = `How a policy is trained, by Espalier or by a trainer elsewhere. The same declaration is the body of
\`PUT /v1/training/policies/{id}\` (scope \`train\`) and the file of \`espalier train --declaration\`. Its JSON Schema:
\`espalier schemas declaration\`, \`GET /v1/training/declaration.schema.json\`. A field that is left out comes from the preset, then
from the backend. An option that belongs to another estimator is refused, never ignored.
`;

/** Returns the page of the declaration: its fields, the estimators and losses with their options, and the presets. */
export function declarationReference(): string {
  const { estimator, loss, ...others } = (declarationSchema() as Schema).properties ?? {};
  const plain = [estimator, loss].map((method) => ({ type: 'object', description: method?.description ?? '' }));
  const fields = { ...others, estimator: plain[0] ?? {}, loss: plain[1] ?? {} };
  return [
    '# Declarations of training\n',
    ABOUT,
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
