import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Where the user has what is published, and the Python that runs it. */
export interface Published {
  readonly python: string;
  /** A checkout of Agent-R. */
  readonly agentR: string;
  /** A checkout of AgentGym with the server. */
  readonly agentGym: string;
  /** A checkout of AgentGym with the client that Agent-R was written against. */
  readonly client: string;
}

const STARTS_MS = 60_000;

/** Starts AgentGym's own TextCraft server. @param env what its process is given besides what this one has. */
export function startTextCraft(
  { python, agentGym }: Pick<Published, 'python' | 'agentGym'>,
  env: Readonly<Record<string, string>> = {},
): Promise<Started> {
  const cwd = join(agentGym, 'agentenv-textcraft'); // it reads its recipes from a folder below
  const args = ['-m', 'uvicorn', 'agentenv_textcraft:app', '--host', '127.0.0.1', '--log-level', 'error'];
  return start(python, args, { cwd, env });
}

export interface Started {
  readonly url: string;
  close(): Promise<void>;
}

async function start(
  python: string,
  words: readonly string[],
  { env, ...options }: { readonly env: Readonly<Record<string, string>>; readonly cwd?: string },
): Promise<Started> {
  const port = await freePort();
  const args = [...words, '--port', String(port)];
  const child = spawn(python, args, { ...options, env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const url = `http://127.0.0.1:${port}`;
  const until = Date.now() + STARTS_MS;
  while (!(await answers(url))) {
    if (child.exitCode !== null || Date.now() > until) {
      child.kill();
      throw new Error(`${python} ${words.join(' ')} did not start: ${said.slice(-2_000)}`);
    }
    await delay(100);
  }
  return {
    url,
    close: async () => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

/** On PYTHONPATH, it counts the actions that AgentGym's class of TextCraft executes. */
export const COUNTING = fileURLToPath(new URL('counting', import.meta.url));

/** Starts our sidecar, which runs AgentGym's classes in its own process; `env.PYTHONPATH` names their folder. */
export function startSidecar({ python }: Pick<Published, 'python'>, env: Readonly<Record<string, string>>): Promise<Started> {
  return start(python, ['-m', 'espalier_rl', 'serve-published', 'agentenv-textcraft'], { env });
}

/** Runs a program of Agent-R to its end. @throws Error with what it said. */
export async function runPublished(
  { python, agentR, client }: Published,
  program: 'mcts_collection.py' | 'path_collection.py',
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<void> {
  const script = fileURLToPath(new URL('run_published.py', import.meta.url));
  const path = [join(client, 'agentenv'), process.env.PYTHONPATH].filter(Boolean).join(delimiter);
  const child = spawn(python, [script, agentR, program, ...args], {
    cwd,
    env: { ...process.env, PYTHONPATH: path, PYTHONUTF8: '1', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4_000);
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${program} ended with ${code}:\n${said}`);
}

/** Reads the sentences of reflection that Agent-R draws from. */
export async function readSentences({ python, agentR, client }: Published): Promise<readonly string[]> {
  const read =
    'import ast,json,sys; tree=ast.parse(open(sys.argv[1],encoding="utf-8").read()); ' +
    'print(json.dumps([ast.literal_eval(n.value) for n in tree.body if isinstance(n,ast.Assign) and n.targets[0].id=="revision_thoughts"][0]))';
  const child = spawn(python, ['-c', read, join(agentR, 'mcts_utils', 'llm_server.py')], {
    env: { ...process.env, PYTHONPATH: client, PYTHONUTF8: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await once(child, 'close');
  return JSON.parse(said);
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server that listens has a port');
  return address.port;
}
