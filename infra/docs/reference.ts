import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { cliReference } from './cli-reference.ts';
import { configurationReference } from './configuration-reference.ts';
import { declarationReference } from './declaration-reference.ts';
import { environmentReference } from './environment-reference.ts';
import { eventReference } from './event-reference.ts';
import { experimentReference } from './experiment-reference.ts';
import { graphqlReference } from './graphql-reference.ts';
import { httpReference } from './http-reference.ts';

const FOLDER = fileURLToPath(new URL('../../docs/reference/', import.meta.url));

/** Returns the pages of the reference by file name, made from the code. */
export async function referencePages(): Promise<Readonly<Record<string, string>>> {
  return {
    'cli.md': await cliReference(),
    'configuration.md': configurationReference(),
    'declaration.md': declarationReference(),
    'environments.md': environmentReference(),
    'events.md': eventReference(),
    'graphql.md': await graphqlReference(),
    'experiment.md': experimentReference(),
    'http.md': await httpReference(),
  };
}

/** `npm run docs:reference` writes the pages; with `--check` it names those that differ from the code and exits 1. */
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const check = process.argv.includes('--check');
  for (const [name, text] of Object.entries(await referencePages())) {
    const before = await readFile(`${FOLDER}${name}`, 'utf8').catch(() => '');
    if (before === text) continue;
    if (check) {
      process.stderr.write(`docs/reference/${name} differs from the code: run npm run docs:reference\n`);
      process.exitCode = 1;
    } else await writeFile(`${FOLDER}${name}`, text);
  }
}
