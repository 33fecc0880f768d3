import type { Command } from 'commander';
import { describeEnvironments } from '../environments/open-environment.ts';
import { print, table } from './terminal.ts';
import { wantsJson } from './with-platform.ts';

/** `espalier environments`: what `--environment` may name, with the options of each. */
export function addEnvironments(program: Command): void {
  const command = program.command('environments').argument('[name]', 'one environment (default: all)');
  command.action((name: string | undefined) => {
    const all = describeEnvironments();
    const chosen = name === undefined ? all : all.filter((each) => each.name === name);
    if (chosen.length === 0)
      throw new Error(`there is no environment ${name}; there are ${all.map((each) => each.name).join(', ')}`);
    if (wantsJson(command)) return print(JSON.stringify(chosen));
    const pages = chosen.map(({ form, summary, options }, i) => {
      const rows = options.map(({ key, value, usual, description }) => [key, value, usual ?? '', description]);
      return [i > 0 ? [''] : [], form, summary, '', table(['option', 'value', 'default', ''], rows)];
    });
    print(pages);
  });
}
