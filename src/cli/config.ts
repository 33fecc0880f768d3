import type { Command } from 'commander';
import { closestName } from '../domain/text/closest-name.ts';
import { configFaults, listSettings, type Setting, unknownVariables, VARIABLE_NAMES, VARIABLES } from '../runtime/config.ts';
import { print, printError, table } from './terminal.ts';
import { wantsJson } from './with-platform.ts';

/** `espalier config`: the settings of a process that starts in this environment, and everything that is wrong with them. */
export function addConfig(program: Command): void {
  const command = program.command('config').option('--all', 'settings that have their default too');
  command.action(({ all = false }: { readonly all?: boolean }) => {
    const settings = listSettings();
    const faults = configFaults().map(({ variable, message }) => ({ variable, message }));
    const unknown = unknownVariables();
    if (faults.length > 0) process.exitCode = 1;
    if (wantsJson(command)) return print(JSON.stringify({ settings: settings.map(asJson), faults, unknown }));
    const shown = settings.filter(({ value }) => all || value !== null);
    if (shown.length === 0) print('nothing is set: every setting has its default (--all lists them)');
    else print(table(['setting', 'value', 'from'], shown.map(rowOf)));
    for (const { message } of faults) printError(`espalier: ${message}`);
    for (const name of unknown) printError(`espalier: nothing reads ${name}${suggestionFor(name)}`);
  });
}

function rowOf({ variable, value, file }: Setting): readonly string[] {
  if (value === null) return [variable, VARIABLES[variable].unset, 'default'];
  return [variable, value, file ?? 'variable'];
}

function asJson({ variable, value, file }: Setting): object {
  return { variable, value, file, default: VARIABLES[variable].unset };
}

function suggestionFor(name: string): string {
  const near = closestName(name, VARIABLE_NAMES);
  return near === null ? '' : `; did you mean ${near}?`;
}
