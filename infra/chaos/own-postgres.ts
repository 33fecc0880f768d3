import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/postgres/embedded-server.ts';
import { connect } from '../../src/postgres/pool.ts';

/** The laboratory's own server, which may be killed and comes back on the same folder and port. */
export interface OwnPostgres {
  readonly url: string;
  /** Kills the postmaster with SIGKILL; its children see it and end. Starts it again, over what they leave behind. */
  kill(): Promise<void>;
  /** Makes sure that it runs and answers: starts it again when it gave up (a full disk). Returns whether it had. */
  revive(): Promise<boolean>;
  close(): Promise<void>;
}

/** Starts a server with durable commits in a folder. */
export async function startOwnPostgres(folder: string): Promise<OwnPostgres> {
  const servers: EmbeddedPostgres[] = [await startEmbeddedPostgres({ folder, durability: 'fsync' })];
  const url = servers[0]?.url ?? '';
  const port = Number(new URL(url).port);
  const pid = async () => Number((await readFile(join(folder, 'data', 'postmaster.pid'), 'utf8')).split('\n')[0]);
  async function start(): Promise<EmbeddedPostgres> {
    const server = await startEmbeddedPostgres({ folder, durability: 'fsync', port });
    servers.push(server);
    return server;
  }
  return {
    url,
    async kill() {
      process.kill(await pid(), 'SIGKILL');
      await start();
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
      for (const server of servers) await server.close();
    },
  };
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
