import { Command, CommanderError } from 'commander';
import { CODE_VERSION } from '../platform/code-version.ts';
import { addCollect } from './collect.ts';
import { addConformance } from './conformance.ts';
import { addDataset } from './dataset.ts';
import { addDemo } from './demo.ts';
import { addEvaluate } from './evaluate.ts';
import { addExport } from './export.ts';
import { addImport } from './import.ts';
import { addKeys } from './keys.ts';
import { addQuarantine } from './quarantine.ts';
import { addRevise } from './revise.ts';
import { addSchemas } from './schemas.ts';
import { addSelfTrain } from './self-train.ts';
import { addStatus } from './status.ts';
import { addTree } from './tree.ts';
import { addUp } from './up.ts';

/** Exit codes: 0 done, 1 a fault or a check that failed, 2 a command line that cannot be understood. */
const program = new Command('espalier')
  .description('Record, query, export and replay what language agents do while they learn: events in Kafka, trees in Postgres.')
  .version(CODE_VERSION)
  .option('--json', 'print results as JSON')
  .option('--debug', 'print the stack of an error')
  .showHelpAfterError('(espalier COMMAND --help says more)')
  .exitOverride();

for (const add of [
  addDemo,
  addUp,
  addCollect,
  addRevise,
  addEvaluate,
  addSelfTrain,
  addStatus,
  addTree,
  addExport,
  addImport,
  addDataset,
  addSchemas,
  addConformance,
  addKeys,
  addQuarantine,
])
  add(program);

// A reader that closes the pipe (`| head`) has what it wanted.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    process.stderr.write(`espalier: ${error instanceof Error ? error.message : String(error)}\n`);
    if (program.opts<{ debug?: boolean }>().debug && error instanceof Error) process.stderr.write(`${error.stack}\n`);
    process.exitCode = 1;
  }
}
