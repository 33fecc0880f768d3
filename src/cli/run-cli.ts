import { Command, CommanderError } from 'commander';
import { CODE_VERSION } from '../platform/code-version.ts';
import { COMMANDS } from './commands.ts';
import { exitStopped, Stopped } from './stoppable.ts';
import { hasPrinted, print, printError, printFailure } from './terminal.ts';

const EXIT_CODES = `
Exit codes: 0 done; 1 an error, a check that failed, a run of which every rollout failed, or a training that came to fewer
versions than asked for; 2 an unknown command or option, a missing argument, or a value outside the choices of an option;
130 stopped by Ctrl-C, 143 by SIGTERM (\`up\` and \`serve\` exit 0 then).`;

/** Runs one command from its words, the program's own name left out. Its exit code is left in `process.exitCode`. */
export async function runCli(words: readonly string[]): Promise<void> {
  const program = new Command('espalier')
    .description('Record, query, export and replay language agents that learn: events in Kafka, trees in Postgres.')
    .version(CODE_VERSION)
    .option('--json', 'print results as JSON')
    .option('--debug', 'print the stack of an error')
    .addHelpText('after', EXIT_CODES)
    .showHelpAfterError('(espalier COMMAND --help says more)')
    .configureOutput({
      writeOut: (text) => print(text.replace(/\n$/, '').split('\n')),
      writeErr: (text) => printError(text.replace(/\n$/, '').split('\n')),
    })
    .exitOverride();

  // The first word names the command, and only its file is loaded; the list of commands needs none of them.
  const [first = '', second = ''] = words.filter((argument) => !argument.startsWith('-'));
  const word = first === 'help' ? second : first;
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    if (name === word) (await load())(program);
    else program.command(name);
    program.commands.find((command) => command.name() === name)?.description(summary);
  }

  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
    else if (error instanceof Stopped) {
      if (program.opts<{ json?: boolean }>().json && !hasPrinted()) print(JSON.stringify({ state: 'stopped' }));
      else printError('espalier: stopped');
      exitStopped();
    } else {
      printFailure(error, program);
      process.exitCode = 1;
    }
  }
}
