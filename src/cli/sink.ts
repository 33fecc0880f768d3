import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { readConfig } from '../runtime/config.ts';
import { pythonEnvironment } from '../runtime/python-server.ts';
import { wholeNumber } from './with-platform.ts';

const SYSTEMS = ['wandb', 'mlflow', 'trackio', 'tensorboard'];
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

interface SinkOptions {
  readonly policy?: string;
  readonly run?: string;
  readonly to: string;
  readonly project?: string;
  readonly from?: number;
  readonly follow?: true;
  readonly state?: string;
  readonly server?: string;
}

/** `espalier sink`: posts the updates of a policy, or the rollouts of a run, by the Python client of the system. */
export function addSink(program: Command): void {
  program
    .command('sink')
    .argument('<system>', SYSTEMS.join(', '))
    .option('--policy <id>', 'the policy whose updates are posted')
    .option('--run <id>', 'the run whose finished rollouts are posted')
    .requiredOption('--to <place>', 'wandb, trackio, tensorboard: a folder; mlflow: the address of its server')
    .option('--project <name>', 'wandb, trackio: the project; mlflow: the experiment; default "espalier"')
    .option('--from <version>', 'the first version of the policy that is posted', wholeNumber('--from', 0))
    .option('--follow', 'continue with new events until stopped or the run is finished')
    .option('--state <folder>', 'the folder for its position (default: ~/.local/state/espalier/sinks)')
    .option('--server <url>', 'the server to read from (default: ESPALIER_HOST and ESPALIER_PORT)')
    .action(async (system: string, options: SinkOptions) => {
      if (!SYSTEMS.includes(system)) throw new Error(`there is no sink ${JSON.stringify(system)}; choose ${SYSTEMS.join(', ')}`);
      if ((options.policy === undefined) === (options.run === undefined)) throw new Error('name either --policy or --run');
      process.exitCode = await runSink(system, options);
    });
}

/** Runs the Python process to its end, its output as this one's, and returns its exit code. It ends with this process. */
function runSink(system: string, options: SinkOptions): Promise<number> {
  const { home, host, port, sinksPython } = readConfig();
  const python = sinksPython ?? 'python3';
  const url = options.server ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const given = (['policy', 'run', 'to', 'project', 'from', 'state'] as const).flatMap((name) =>
    options[name] === undefined ? [] : [`--${name}=${options[name]}`],
  );
  const env = { ...pythonEnvironment(), ESPALIER_URL: url, ESPALIER_HOME: home }; // where it finds the token, for a server on loopback alone
  const args = ['-m', 'espalier_rl.sinks', system, ...given, ...(options.follow ? ['--follow'] : []), '--with-parent'];
  // in a group of its own: Ctrl-C reaches it once, from here
  const child = spawn(python, args, { env, detached: true, stdio: ['pipe', 'inherit', 'inherit'] });
  const pass = (signal: NodeJS.Signals) => void child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, pass);
  return new Promise((resolve, reject) => {
    child.once('error', (error) =>
      reject(new Error(`${python} does not start (${error.message}); name a Python with ${system} by ESPALIER_SINKS_PYTHON`)),
    );
    child.once('close', (code) => {
      for (const signal of SIGNALS) process.off(signal, pass);
      resolve(code ?? 1);
    });
  });
}
