import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Environment, EnvironmentKind } from '../../src/environments/environment.ts';
import { openTextCraft } from '../../src/environments/textcraft/textcraft.ts';
import { startAgentGymServer } from '../../src/testing/agentgym-server.ts';
import { textcraftWorld } from '../../src/testing/agentgym-server-worlds.ts';

/** What servers were asked for since the last look. */
export interface Asked {
  /** Actions that an environment executed, in whatever request they came. */
  readonly steps: number;
  readonly requests: number;
  /** User and system time of the server's process. */
  readonly serverCpuMs: number;
}

/** TextCraft behind AgentGym's protocol, in a process of its own, so that the client's CPU is the client's. */
export interface CountingServer {
  /** As AgentGym's own server. */
  readonly plain: string;
  /** As ours of its protocol, which copies environments and plays beginnings in one request. */
  readonly copying: string;
  /** Returns what was asked for, and counts from 0 again. */
  asked(): Promise<Asked>;
  close(): Promise<void>;
}

export async function startCountingServer(): Promise<CountingServer> {
  const child = fork(fileURLToPath(import.meta.url), ['serve'], { execArgv: ['--import', 'tsx'] });
  const heard = async <T>(): Promise<T> => {
    const ended = new AbortController();
    try {
      const message = once(child, 'message', { signal: ended.signal });
      const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
        throw new Error(`the server ended with ${code}`);
      });
      return ((await Promise.race([message, exit])) as [T])[0]; // sent by `serve` below
    } finally {
      ended.abort();
    }
  };
  const urls = await heard<Pick<CountingServer, 'plain' | 'copying'>>();
  return {
    ...urls,
    asked() {
      child.send('asked');
      return heard<Asked>();
    },
    async close() {
      child.disconnect();
      if (child.exitCode === null) await once(child, 'exit');
    },
  };
}

if (process.argv[2] === 'serve') await serve();

async function serve(): Promise<void> {
  let steps = 0;
  const textcraft = await openTextCraft();
  const counted = (environment: Environment): Environment => ({
    ...environment,
    step: (action) => {
      steps++;
      return environment.step(action);
    },
    clone: async () => counted((await environment.clone?.()) ?? environment),
  });
  const kind: EnvironmentKind = { ...textcraft, create: async () => counted(await textcraft.create()) };
  const plain = await startAgentGymServer(() => textcraftWorld(kind));
  const copying = await startAgentGymServer(() => textcraftWorld(kind, 0, true));
  let before = 0;
  let cpu = process.cpuUsage();
  process.on('message', () => {
    const requests = plain.requests.length + copying.requests.length;
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    process.send?.({ steps, requests: requests - before, serverCpuMs: (user + system) / 1_000 } satisfies Asked);
    steps = 0;
    before = requests;
  });
  process.once('disconnect', () => void Promise.all([plain.close(), copying.close()]));
  process.send?.({ plain: plain.url, copying: copying.url });
}
