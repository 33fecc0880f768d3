import { Command, CommanderError } from 'commander';
import { CODE_VERSION } from '../platform/code-version.ts';

/** The commands, each loaded when it is wanted: all of them together take over a second of one core. In the order of the help. */
const COMMANDS: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  demo: async () => (await import('./demo.ts')).addDemo,
  up: async () => (await import('./up.ts')).addUp,
  collect: async () => (await import('./collect.ts')).addCollect,
  revise: async () => (await import('./revise.ts')).addRevise,
  score: async () => (await import('./score.ts')).addScore,
  evaluate: async () => (await import('./evaluate.ts')).addEvaluate,
  'self-train': async () => (await import('./self-train.ts')).addSelfTrain,
  train: async () => (await import('./train.ts')).addTrain,
  ledger: async () => (await import('./ledger.ts')).addLedger,
  status: async () => (await import('./status.ts')).addStatus,
  tree: async () => (await import('./tree.ts')).addTree,
  export: async () => (await import('./export.ts')).addExport,
  import: async () => (await import('./import.ts')).addImport,
  prepare: async () => (await import('./prepare.ts')).addPrepare,
  dataset: async () => (await import('./dataset.ts')).addDataset,
  agentgym: async () => (await import('./agentgym.ts')).addAgentgym,
  render: async () => (await import('./render.ts')).addRender,
  tokens: async () => (await import('./tokens.ts')).addTokens,
  'compression-sweep': async () => (await import('./compression-sweep.ts')).addCompressionSweep,
  replay: async () => (await import('./replay.ts')).addReplay,
  verify: async () => (await import('./verify.ts')).addVerify,
  trace: async () => (await import('./trace.ts')).addTrace,
  recall: async () => (await import('./recall.ts')).addRecall,
  'diff-rewards': async () => (await import('./diff-rewards.ts')).addDiffRewards,
  rebuild: async () => (await import('./rebuild.ts')).addRebuild,
  schemas: async () => (await import('./schemas.ts')).addSchemas,
  conformance: async () => (await import('./conformance.ts')).addConformance,
  keys: async () => (await import('./keys.ts')).addKeys,
  quarantine: async () => (await import('./quarantine.ts')).addQuarantine,
};

/** Exit codes: 0 done, 1 a fault or a check that failed, 2 a command line that cannot be understood. */
const program = new Command('espalier')
  .description('Record, query, export and replay what language agents do while they learn: events in Kafka, trees in Postgres.')
  .version(CODE_VERSION)
  .option('--json', 'print results as JSON')
  .option('--debug', 'print the stack of an error')
  .showHelpAfterError('(espalier COMMAND --help says more)')
  .exitOverride();

// The first word names the command; help, and a word that names none, need all of them.
const word = process.argv.slice(2).find((argument) => !argument.startsWith('-')) ?? '';
const named = Object.entries(COMMANDS).filter(([name]) => name === word);
for (const [, load] of named.length > 0 ? named : Object.entries(COMMANDS)) (await load())(program);

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
