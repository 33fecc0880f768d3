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
    '| `ESPALIER_SECRET_NAME` | the file secrets/NAME in ESPALIER_HOME | value of the secret that an address or a policy calls `secret:NAME` |',
    '',
  ].join('\n');
}
