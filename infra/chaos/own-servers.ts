import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/postgres/embedded-server.ts';
import { connect } from '../../src/postgres/pool.ts';
import { type ChildProcess, startProcess } from '../../src/testing/worker-process.ts';
import { startKafka } from '../kafka/start-kafka.ts';

/** The laboratory's own server, which may be killed and comes back on the same folder and port. */
export interface OwnPostgres {
  readonly url: string;
  /** Kills the postmaster with SIGKILL; its children see it and end. Starts it again, over what they leave behind. */
  kill(): Promise<void>;
  /**
   * Ends the process that was first to use the server, while others use it, and starts one that will be ended next. @throws Error
   * when the server ended with it.
   */
  endOwner(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Makes sure that it runs and answers: starts it again when it gave up (a full disk). Returns whether it had. */
  revive(): Promise<boolean>;
  close(): Promise<void>;
}

/** Starts a server with durable commits in a folder. */
export async function startOwnPostgres(folder: string): Promise<OwnPostgres> {
  let owner = await startOwner(folder);
  const servers: EmbeddedPostgres[] = [await startEmbeddedPostgres({ folder, durability: 'fsync' })];
  const url = servers[0]?.url ?? '';
  const pid = async () => Number((await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')[0]);
  async function start(): Promise<EmbeddedPostgres> {
    const server = await startEmbeddedPostgres({ folder, durability: 'fsync' });
    servers.push(server);
    return server;
  }
  return {
    url,
    async kill() {
      process.kill(await pid(), 'SIGKILL');
      await start();
    },
    async endOwner(signal) {
      if (hasEnded.has(owner)) owner = await startOwner(folder); // with the processes of a training before
      const before = await pid();
      owner.kill(signal);
      await owner.ended;
      if ((await pid()) !== before || !(await answers(url)))
        throw new Error(`the server of ${folder} ended with the process that started it (${signal})`);
      owner = await startOwner(folder);
    },
    async revive() {
      let started = false;
      for (let tries = 0; !(await answers(url)); tries++) {
        if (tries > 0) await delay(200); // it may be recovering
        started = (await start()).started || started;
      }
      return started;
    },
    async close() {
      owner.kill('SIGKILL');
      await owner.ended;
      for (const server of servers) await server.close();
    },
  };
}

const hasEnded = new WeakSet<ChildProcess>();

async function startOwner(folder: string): Promise<ChildProcess> {
  const owner = startProcess('infra/chaos/own-server.ts', [folder], {});
  void owner.ended.then(() => hasEnded.add(owner));
  await owner.saying(/^using the server$/);
  return owner;
}

async function answers(url: string): Promise<boolean> {
  try {
    const client = await connect(url, 'espalier chaos');
    await client.query('select').finally(() => client.end());
    return true;
  } catch {
    return false;
  }
}

/** The laboratory's own broker, which may be killed and comes back on the same folder and port. */
export interface OwnBroker {
  readonly brokers: readonly string[];
  /** Kills it with SIGKILL, does something while it is away, and starts it again over its data. */
  kill(meanwhile: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** Starts a broker with data of its own. */
export async function startOwnBroker(): Promise<OwnBroker> {
  let kafka = await startKafka();
  const { brokers, folder, port } = kafka;
  return {
    brokers,
    async kill(meanwhile) {
      await kafka.kill();
      await meanwhile();
      kafka = await startKafka({ folder, port });
    },
    async close() {
      await kafka.kill(); // nobody misses its data
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

const run = promisify(execFile);

/** A folder on a file system of its own in memory, which can be made full and have room again. */
export interface SmallDisk {
  readonly folder: string;
  /** Leaves no room: whatever is written that needs a new block fails with ENOSPC. */
  fill(): Promise<void>;
  freeSpace(): Promise<void>;
  remove(): Promise<void>;
}
/** Why there is none: mounting is for root. */
export interface NoDisk {
  readonly reason: string;
}

const SIZE = '3g'; // of pages that are taken as they are written
const TRIES = 50; // what is written between the look and the cut moves the mark

/** Mounts an empty disk on a folder. */
export async function mountSmallDisk(folder: string): Promise<SmallDisk | NoDisk> {
  await mkdir(folder, { recursive: true });
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=0755`, 'espalier-chaos', folder]);
  } catch (error) {
    return { reason: `no disk can be mounted here (${reasonOf(error)})` };
  }
  const resize = (size: string) => run('mount', ['-o', `remount,size=${size}`, folder]);
  return {
    folder,
    async fill() {
      for (let tries = 1; ; tries++) {
        const { bsize, blocks, bfree } = await statfs(folder);
        try {
          return void (await resize(String((blocks - bfree) * bsize)));
        } catch (error) {
          if (tries === TRIES) throw error;
        }
      }
    },
    freeSpace: async () => void (await resize(SIZE)),
    remove: () => unmount(folder),
  };
}

/** Takes a disk away, if there is one. */
export async function unmount(folder: string): Promise<void> {
  await run('umount', ['--lazy', folder]).catch(() => undefined); // nothing is mounted there
}

function reasonOf(error: unknown): string {
  const said = typeof error === 'object' && error !== null && 'stderr' in error ? String(error.stderr) : String(error);
  return said.trim().split('\n').at(-1) ?? '';
}
