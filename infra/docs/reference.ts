import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { readTypeDefs } from '../../graphql/type-defs.ts';
import { describeEnvironments } from '../../src/environments/open-environment.ts';
import { VARIABLES } from '../../src/runtime/config.ts';
import { cliReference } from './cli-reference.ts';
import { declarationReference } from './declaration-reference.ts';
import { eventReference } from './event-reference.ts';
import { experimentReference } from './experiment-reference.ts';
import { httpReference } from './http-reference.ts';
import { cell, codeCell } from './schema-table.ts';

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
    '| `ESPALIER_SECRET_NAME` | the file secrets/NAME in ESPALIER_HOME | value of the secret that an address or a policy calls `secret:NAME` |',
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

/** Writes the pages (`npm run docs:reference`); `npm run docs` and `npm run docs:build` begin with it. */
if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, page] of Object.entries(await referencePages())) await writeFile(`${FOLDER}${name}`, page);
