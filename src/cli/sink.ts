import { spawn } from 'node:child_process';
import type { Command } from 'commander';
import { readConfig } from '../runtime/config.ts';
import { pythonEnvironment } from '../runtime/python-server.ts';
import { wholeNumber } from './with-platform.ts';

const SYSTEMS = ['tensorboard', 'mlflow'];

interface SinkOptions {
  readonly policy: string;
  readonly to: string;
  readonly from?: number;
  readonly follow?: number;
  readonly server?: string;
}

/** `espalier sink`: posts the updates of a policy by the Python client of the system, which has to be installed there. */
export function addSink(program: Command): void {
  program
    .command('sink')
    .argument('<system>', 'tensorboard or mlflow')
    .requiredOption('--policy <id>', 'whose updates are posted')
    .requiredOption('--to <place>', 'tensorboard: a folder for its logs; mlflow: the address of its server')
    .option(
      '--from <version>',
      'the first version to post; left out, the one behind the last that is there',
      wholeNumber('--from', 0),
    )
    .option('--follow <seconds>', 'look again after so many seconds, until it is ended', wholeNumber('--follow', 1, 86_400))
    .option('--server <url>', 'the server to read from; left out, the one of ESPALIER_HOST and ESPALIER_PORT')
    .action(async (system: string, options: SinkOptions) => {
      if (!SYSTEMS.includes(system))
        throw new Error(`there is no sink ${JSON.stringify(system)}; choose ${SYSTEMS.join(' or ')}`);
      process.exitCode = await runSink(system, options);
    });
}

/** Runs the Python process to its end, its output as this one's, and returns its exit code. */
function runSink(system: string, { policy, to, from, follow, server }: SinkOptions): Promise<number> {
  const { home, host, port, sinksPython } = readConfig();
  const python = sinksPython ?? 'python3';
  const url = server ?? `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const given = [
    ...(from === undefined ? [] : ['--from', `${from}`]),
    ...(follow === undefined ? [] : ['--follow', `${follow}`]),
  ];
  const env = { ...pythonEnvironment(), ESPALIER_URL: url, ESPALIER_HOME: home }; // where it finds the token, for a server on loopback alone
  const child = spawn(python, ['-m', 'espalier_rl.sinks', system, '--policy', policy, '--to', to, ...given], {
    ...{ env, stdio: 'inherit' },
  });
  return new Promise((resolve, reject) => {
    child.once('error', (error) =>
      reject(new Error(`${python} does not start (${error.message}); name a Python with ${system} by ESPALIER_SINKS_PYTHON`)),
    );
    child.once('close', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)));
  });
}
