import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chooseAccount } from './embedded-server-account.ts';
import { findPostgresBinaries } from './embedded-server-binaries.ts';
import { folderError } from './embedded-server-error.ts';
import { type Durability, prepareFolder } from './embedded-server-folder.ts';
import { greetingOf, lockFolder, readSupervisor, unlockFolder } from './embedded-server-lock.ts';
import { startPostmaster, stopPostmaster } from './embedded-server-postmaster.ts';

/**
 * Runs the server of a folder until it has no user any more, and starts it again when it ends before. Returns at once where another
 * process is its supervisor. Why it cannot run is printed as one line, the code and message of an
 * `EmbeddedServerError` as JSON, and the process is left with exit code 1.
 */
export async function superviseServer(folder: string, durability: Durability): Promise<void> {
  try {
    await supervise(folder, durability);
  } catch (error) {
    const { code, message } = folderError(folder, error);
    process.stderr.write(`${JSON.stringify({ code, message })}\n`);
    process.exitCode = 1;
  }
}

const LOCK_MS = 1_000;
const AGAIN_MS = 100; // before a server that ended is started again: it may end at once

async function supervise(folder: string, durability: Durability): Promise<void> {
  const token = randomBytes(16).toString('hex');
  const users = await receiveUsers(token);
  if (!(await lockFolder(folder, { pid: process.pid, port: users.port, token }))) return;
  // One whose lock was taken, or whose folder was removed, ends, and its server with it.
  setInterval(async () => (await readSupervisor(folder))?.token === token || process.exit(), LOCK_MS);
  const binaries = await findPostgresBinaries();
  const account = await chooseAccount(join(folder, 'data'), [folder, binaries.postgres]);
  await prepareFolder(folder, binaries, account, durability);
  for (;;) {
    await stopPostmaster(folder); // of a supervisor that was killed
    const server = await startPostmaster(folder, durability, binaries.postgres, account);
    users.admit(server.port);
    while (server.output() === undefined && !users.haveLeft()) await Promise.race([server.ended, users.changed()]);
    users.hold();
    if (!users.haveLeft()) {
      await delay(AGAIN_MS);
      continue;
    }
    await stopPostmaster(folder);
    if (users.haveLeft()) break;
    users.dismiss();
  }
  await unlockFolder(folder, { token });
}

const ARRIVAL_MS = 5_000; // of the user that started the supervisor, unless it was killed

/** Receives users, each a connection that sends the token. Who leaves last is kept on the line until `dismiss`. */
async function receiveUsers(token: string) {
  const users = new Set<Socket>();
  const last = new Set<Socket>();
  let ready: string | undefined;
  let isAwaited = true;
  let notify = () => {};
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.write(greetingOf(token));
    socket.once('data', (request) => {
      if (String(request) !== `${token}\n`) return socket.end();
      users.add(socket);
      isAwaited = false;
      if (ready !== undefined) socket.write(ready);
    });
    socket.once('end', leave).once('close', leave);
    socket.on('error', () => undefined); // it closes
    function leave(): void {
      if (users.delete(socket) && users.size === 0) last.add(socket);
      else if (!last.has(socket)) socket.end();
      notify();
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  setTimeout(() => {
    isAwaited = false;
    notify();
  }, ARRIVAL_MS);
  return {
    port: (server.address() as AddressInfo).port, // of a TCP server that listens
    haveLeft: () => users.size === 0 && !isAwaited,
    changed: () => new Promise<void>((resolve) => (notify = resolve)),
    /** Tells all users, and those that come, that Postgres is ready. */
    admit(port: number) {
      ready = `ready ${port}\n`;
      for (const socket of users) socket.write(ready);
    },
    /** Lets those that come wait. */
    hold() {
      ready = undefined;
    },
    /** Hangs up on those that left last. */
    dismiss() {
      for (const socket of last) socket.end();
      last.clear();
    },
  };
}
