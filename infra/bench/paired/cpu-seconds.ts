import { readdir, readFile } from 'node:fs/promises';

/** Seconds of CPU, in user and kernel mode. */
export interface CpuSeconds {
  /** Of this process. */
  readonly node: number;
  /** Of all processes of a Postgres server, those that ended included. */
  readonly postgres: number;
}

const TICKS = 100; // per second, in /proc on Linux

/** Returns the process of the server that a session belongs to. */
export async function serverOf(backend: number): Promise<number> {
  return (await statOf(backend)).parent;
}

/** Reads what this process and the processes of a Postgres server have used so far. */
export async function cpuSeconds(server: number): Promise<CpuSeconds> {
  const { user, system } = process.cpuUsage();
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const all = await Promise.all(pids.map((pid) => statOf(pid).catch(() => undefined))); // one may end meanwhile
  const children = all.filter((stat) => stat?.parent === server).reduce((sum, stat) => sum + (stat?.used ?? 0), 0);
  const { used, usedByEnded } = await statOf(server);
  return { node: (user + system) / 1e6, postgres: children + used + usedByEnded };
}

interface Stat {
  readonly parent: number;
  readonly used: number;
  /** By children that were waited for. */
  readonly usedByEnded: number;
}

async function statOf(pid: number): Promise<Stat> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1');
  // Behind the name, which may hold blanks: state, ppid, …, utime (the 12th), stime, cutime, cstime.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const seconds = (i: number) => Number(fields[i]) / TICKS;
  return { parent: Number(fields[1]), used: seconds(11) + seconds(12), usedByEnded: seconds(13) + seconds(14) };
}
