import { VARIABLES } from '../../src/runtime/config.ts';
import { cell } from './cell.ts';

/** Returns the page of every environment variable. */
export function configurationReference(): string {
  const rows = Object.entries(VARIABLES).map(([name, { unset, about }]) => `| \`${name}\` | ${cell(unset)} | ${cell(about)} |`);
  return [
    '# Configuration\n',
    'Made from the code by `npm run docs:reference`. An empty variable counts as unset; a value that cannot be used is an error that names it.\n',
    '| variable | default | |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
