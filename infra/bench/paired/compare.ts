import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { median } from '../percentile.ts';
import type { Size } from '../stage.ts';
import type { Round, Work } from './works.ts';

/** A work measured on two checkouts in turn. */
export interface Compared {
  readonly work: Work;
  readonly events: number;
  /** CPU per event of the earlier divided by that of the later one, the median of the pairs: above 1 the later is cheaper. */
  readonly cpu: number;
  /** Events per second of the later one divided by those of the earlier one, likewise. */
  readonly rate: number;
  readonly before: Figures;
  readonly after: Figures;
}
export interface Figures {
  readonly eventsPerSecond: number;
  /** Microseconds of CPU per event. */
  readonly node: number;
  readonly postgres: number;
  /** How long an event waited, ms. */
  readonly waited?: Round['waited'];
}

export interface Comparison {
  /** Folders of the two checkouts, each with its dependencies installed. */
  readonly before: string;
  readonly after: string;
  readonly work: Work;
  readonly pairs: number;
  /** Trees of a round. */
  readonly trees: number;
  readonly size: Size;
  /** Brokers for both. */
  readonly brokers: readonly string[];
  /** Where node's CPU profiles of both are written, when they are wanted. */
  readonly profile?: string | undefined;
}

/**
 * Does rounds of a work on two checkouts, one round at a time and in changing order, so that whatever else the machine does meets
 * both. Each works in a process, and on a Postgres server, of its own; the first round of each warms it up.
 */
export async function compare(comparison: Comparison): Promise<Compared> {
  const { before, after, work, pairs } = comparison;
  const workers = [before, after].map((folder) => startWorker(folder, comparison));
  try {
    for (const worker of workers) await answerOf(worker);
    const rounds: Round[][] = [[], []];
    for (let pair = -1; pair < pairs; pair++)
      for (const i of pair % 2 === 0 ? [0, 1] : [1, 0]) {
        const worker = workers[i] as ChildProcess; // there are two
        worker.send('round');
        const round = (await answerOf(worker)) as Round; // sent by worker.ts
        if (pair >= 0) rounds[i]?.push(round);
      }
    const [early = [], late = []] = rounds;
    const ratios = (of: (round: Round) => number) => late.map((round, i) => of(round) / of(early[i] as Round)); // as many
    return {
      work,
      events: late[0]?.events ?? 0,
      cpu: median(ratios((round) => 1 / cpuOf(round))),
      rate: median(ratios(({ events, seconds }) => events / seconds)),
      before: figuresOf(early),
      after: figuresOf(late),
    };
  } finally {
    await Promise.all(workers.map(stop));
  }
}

function cpuOf({ events, cpu: { node, postgres } }: Round): number {
  return (node + postgres) / events;
}

function figuresOf(rounds: readonly Round[]): Figures {
  const of = (pick: (round: Round) => number) => median(rounds.map(pick));
  return {
    eventsPerSecond: of(({ events, seconds }) => events / seconds),
    node: of(({ events, cpu }) => (cpu.node / events) * 1e6),
    postgres: of(({ events, cpu }) => (cpu.postgres / events) * 1e6),
    waited: rounds[0]?.waited && { p50: of(({ waited }) => waited?.p50 ?? 0), p99: of(({ waited }) => waited?.p99 ?? 0) },
  };
}

function startWorker(folder: string, { work, size, trees, brokers, profile }: Comparison): ChildProcess {
  const { DATABASE_URL: _given, ...env } = process.env; // each has a server of its own, whose time is counted
  return fork(fileURLToPath(new URL('./worker.ts', import.meta.url)), [folder, work, size, String(trees)], {
    cwd: folder,
    env: { ...env, KAFKA_BROKERS: brokers.join(',') },
    execArgv: ['--import', 'tsx', ...(profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`])],
  });
}

async function answerOf(worker: ChildProcess): Promise<unknown> {
  const answered = new AbortController(); // or each answer leaves a listener behind
  const { signal } = answered;
  const ended = once(worker, 'exit', { signal }).then(([code]) => {
    throw new Error(`the measuring process ended with ${code}`);
  });
  try {
    return await Promise.race([once(worker, 'message', { signal }).then(([message]) => message), ended]);
  } finally {
    answered.abort();
  }
}

async function stop(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || !worker.connected) return;
  worker.send('close');
  await once(worker, 'exit');
}
