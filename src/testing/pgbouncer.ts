import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../runtime/free-port.ts';
import { until } from './until.ts';

export interface Pooler {
  /** The address of the database through the pooler. */
  readonly url: string;
  close(): Promise<void>;
}

const CONNECTIONS = 8; // fewer than the clients have, so that each is lent to many

/**
 * Starts the real pgbouncer before a database. It does not run as root, so that root runs it as `nobody`.
 * @throws Error when it is not installed: it is in Debian's packages, and `.ci/run` installs it.
 */
export async function startPgbouncer(database: string, mode: 'transaction' | 'session'): Promise<Pooler> {
  const { hostname, port, username, password, pathname } = new URL(database);
  const folder = await mkdtemp(join(tmpdir(), 'espalier-pgbouncer-'));
  await chmod(folder, 0o755);
  const free = await freePort();
  const secret = password === '' ? '' : ` password='${decodeURIComponent(password)}'`;
  const file = join(folder, 'pgbouncer.ini');
  await writeFile(
    file,
    `[databases]
* = host=${hostname} port=${port || 5432} user=${decodeURIComponent(username)}${secret}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${free}
unix_socket_dir =
auth_type = any
pool_mode = ${mode}
default_pool_size = ${CONNECTIONS}
max_client_conn = 500
`,
  );
  const asRoot = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const path = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`; // where Debian puts it
  const child = spawn('pgbouncer', [...asRoot, file], { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: path } });
  let [said, over] = ['', false];
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = new Promise<void>((resolve) => {
    const end = (error?: unknown) => {
      if (error instanceof Error) said += `${error.message}; install Debian's package pgbouncer`;
      over = true;
      resolve();
    };
    child.once('error', end).once('close', () => end());
  });
  await until(async () => {
    if (over) throw new Error(`pgbouncer ended: ${said}`);
    return accepts(free);
  });
  return {
    url: `postgres://any@127.0.0.1:${free}${pathname}`,
    async close() {
      child.kill('SIGKILL');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
