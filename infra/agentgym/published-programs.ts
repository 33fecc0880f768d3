import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { freePort } from '../../src/runtime/free-port.ts';
import { until } from '../../src/testing/until.ts';
import { drawnTie } from '../../src/usecases/collect/search/search-rules.ts';

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

/** Starts AgentGym's own TextCraft server. */
export async function startTextCraft({ python, agentGym }: Pick<Published, 'python' | 'agentGym'>) {
  const port = await freePort();
  const args = ['-m', 'uvicorn', 'agentenv_textcraft:app', '--host', '127.0.0.1', '--log-level', 'error', '--port', `${port}`];
  const cwd = join(agentGym, 'agentenv-textcraft'); // it reads its recipes from a folder below
  const child = spawn(python, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  let printed = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    printed += chunk;
  });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`AgentGym's server did not start: ${printed.slice(-2_000)}`);
    return (await fetch(url).catch(() => null))?.ok === true;
  });
  return {
    url,
    close: async () => {
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
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

const tie = z.object({
  alias: z.string(),
  simulation: z.int().min(0),
  place: z.array(z.int().min(0)),
  size: z.int().min(1),
});

/** Answers the position that our search draws at a tie, so that the published one can take the same. */
export async function startTieServer(seed: number, aliases: readonly string[]) {
  const server = createServer(async (request, response) => {
    const asked = tie.parse(JSON.parse(await text(request)));
    const position = drawnTie({ ...asked, seed, treeIndex: aliases.indexOf(asked.alias) });
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ position }));
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
