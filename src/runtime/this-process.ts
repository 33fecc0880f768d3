import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Names this process so that another one on its machine can see whether it ended: `pid 12 on host`, and behind it by what it
 * differs from another process of that number (the start of the machine, its namespace of process ids, its own start).
 */
export function thisProcess(): string {
  return `pid ${process.pid} on ${hostname()} (${machine()} ${startOf(process.pid) ?? 0})`;
}

/** Returns whether a named process is known to have ended: it ran on this machine, and does no more. */
export function hasEnded(named: string): boolean {
  const [, pid, host, where, start] = /^pid (\d+) on (\S+) \((\S+) (\d+)\)$/.exec(named) ?? [];
  if (pid === undefined || host !== hostname() || where !== machine()) return false;
  const now = startOf(Number(pid));
  if (now !== null) return String(now) !== start;
  return !isAlive(Number(pid));
}

/** Returns whether a process exists on this machine, be it another user's. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'; // process.kill throws nothing else
  }
}

/** Returns the words for people of a named process. */
export function inWords(named: string): string {
  return named.replace(/ \(.*$/, '');
}

function machine(): string {
  return `${quietly(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()) ?? '-'}/${quietly(() => readlinkSync('/proc/self/ns/pid')) ?? '-'}`;
}

/** When a process started, in ticks since the machine did; null where that cannot be read, as of one that ended. */
function startOf(pid: number): number | null {
  // the name, the second field, may hold blanks and parentheses: what follows the last of them has none
  const stat = quietly(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields?.[0];
  return fields === undefined || state === 'Z' || state === 'X' ? null : Number(fields[19]);
}

function quietly(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
