import { Command, type Option } from 'commander';
import { COMMANDS } from '../../src/cli/commands.ts';
import { cell, codeCell } from './schema-table.ts';

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
