import { describeEnvironments } from '../../src/environments/open-environment.ts';
import { cell, codeCell } from './cell.ts';

/** Returns the page of every environment and its options, as the registry describes them. */
export function environmentReference(): string {
  const pages = describeEnvironments().map(({ name, form, summary, options }) => {
    const rows = options.map(
      ({ key, value, usual, description }) =>
        `| \`${key}\` | ${codeCell(value)} | ${usual === null ? '' : codeCell(usual)} | ${cell(description)} |`,
    );
    return [
      `## ${name}\n`,
      `\`${form}\`: ${summary}.\n`,
      '| option | value | default | |',
      '|---|---|---|---|',
      ...rows,
      '',
    ].join('\n');
  });
  return [
    '# Environments\n',
    'What `--environment` may name. Made from the code by `npm run docs:reference`; `espalier environments` prints the same.\n',
    ...pages,
  ].join('\n');
}
