import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Account } from './embedded-server-account.ts';
import { PIPE, type ServerUsers } from './embedded-server-users.ts';

/**
 * A small process next to the server, in a session of its own, that no user owns: it starts Postgres (or takes over one whose
 * guard was killed), says its process id, answers arrivals, and stops it (SIGINT: roll back, checkpoint, end) behind the last
 * user.
 *
 * Until stdin closes, descriptor 4 counts as a user: whoever started the guard closes stdin when it has entered, and the kernel
 * does when it is killed before. Descriptor 6 stays open until Postgres has ended: an arrival that finds no reader knows that
 * there is no guard. The watcher reads with a builtin, so that no process is left when Postgres ends first. A server that was
 * taken over is no child, and its number may belong to another program by the time the users leave: postmaster.pid is asked.
 */
const GUARD = `
pipe=$1/${PIPE} users=$1 data=$2 server=$3; shift 3
exec 3<&0 4<>"$pipe" 6<"$pipe"
own=
if [ "$server" = start ]; then
  "$@" </dev/null >&2 3<&- 4<&- 6<&- & server=$!
  own=yes
fi
(
  exec >/dev/null 6<&-
  while read -r line <&3; do :; done
  exec 5<"$pipe" 3<&- 4<&-
  while read -r asked arrival <&5; do
    if [ "$asked" = "$server" ]; then rm -f "$users/$arrival"; fi
  done
  now=$server
  if [ -z "$own" ]; then now=; read -r now <"$data/postmaster.pid"; fi
  if [ "$now" = "$server" ]; then kill -INT "$server"; fi
) & watcher=$!
exec 3<&- 4<&- </dev/null
echo "$server"
exec >/dev/null
if [ -n "$own" ]; then
  wait "$server"; code=$?
  kill "$watcher" 2>/dev/null
  exit "$code"
fi
wait "$watcher"
while kill -0 "$server" 2>/dev/null; do sleep 0.1; done
`;

export interface Guard {
  /** The process id of the server. */
  readonly pid: number;
  /** Resolves with what was written to the log since the guard began, once it has ended: behind its server. */
  readonly ended: Promise<string>;
}

export interface GuardStart {
  readonly folder: string;
  readonly data: string;
  readonly account: Account;
  readonly users: ServerUsers;
  /** The program to start and its arguments, or the process id of a server that runs without a guard. */
  readonly server: readonly string[] | number;
}

/** Starts a guard, of which this process is the first user. It may end at once: see `ended`. */
export async function startGuard({ folder, data, account, users, server }: GuardStart): Promise<Guard> {
  const log = await openLog(join(folder, 'postgres.log'));
  const guarded = typeof server === 'number' ? [String(server)] : ['start', ...server];
  const { command, args, options } = account.wrap('/bin/sh', ['-c', GUARD, 'guard', users.folder, data, ...guarded]);
  // detached: a Ctrl-C in the terminal is for the program, and a signal to its group must not end the server of others.
  const guard = spawn(command, args, { ...options, detached: true, stdio: ['pipe', 'pipe', log.file.fd] });
  guard.stdin?.on('error', () => undefined); // the guard ended first: `ended` says so
  const ended = once(guard, 'exit').then(
    () => log.written(),
    (error) => `${command}: ${String(error)}`,
  );
  const pid = await firstLine(guard);
  users.enter();
  guard.stdin?.end();
  await log.file.close();
  guard.unref();
  return { pid, ended };
}

const LOG_LIMIT = 16 * 1024 * 1024;

async function openLog(path: string) {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  if (size > LOG_LIMIT) await rename(path, `${path}.1`);
  const file = await open(path, 'a', 0o600);
  const from = size > LOG_LIMIT ? 0 : size;
  // The folder may be gone by the time that a guard ends.
  const written = () => readFile(path).then((bytes) => bytes.subarray(from).toString('utf8').slice(-8_000), String);
  return { file, written };
}

async function firstLine(guard: ChildProcess): Promise<number> {
  let text = '';
  try {
    for await (const chunk of guard.stdout ?? []) {
      text += String(chunk);
      if (text.includes('\n')) break;
    }
  } catch {
    // the guard could not be started: `ended` says why
  }
  return Number.parseInt(text, 10) || 0;
}
