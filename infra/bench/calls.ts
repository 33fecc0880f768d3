import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { serveApi } from '../../src/app/serve-api.ts';
import { startInThread } from '../../src/app/start-in-thread.ts';
import { createKey } from '../../src/postgres/keys.ts';
import { childEnvironment, readConfig } from '../../src/runtime/config.ts';
import { SILENT } from '../../src/runtime/logger.ts';
import { PYTHON_PACKAGE } from '../../src/runtime/python-server.ts';
import { type BenchResult, type Figure, median, type Unit } from './bench-result.ts';
import { bytesIn, installPython, runScript, withServer } from './side-by-side/measure-system.ts';
import { OPENAI, CALLS as SCRIPTS, SYSTEMS } from './side-by-side/systems.ts';
import { homeOf, openStagePlatform, type Size, type Stage } from './stage.ts';

const ROUNDS: Record<Size, number> = { full: 3, quick: 1 };
const CALLS: Record<Size, number> = { full: 200, quick: 5 }; // of a round
const AWAY_CALLS: Record<Size, number> = { full: 100, quick: 5 };
const LONGEST_MS = 60_000; // that a program is waited for whose store is away

/** Where the calls of a program go: how to ask it, and how it goes away. */
interface Store {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  bytes(): Promise<number>;
  leave(): Promise<void>;
  comeBack(): Promise<void>;
}

/** What program.py prints of calls. */
interface Calls {
  readonly ms: readonly number[];
  readonly seconds: number;
  readonly lines: number;
}

/** What one system adds to a program. */
interface Measured {
  readonly lines: number;
  readonly addedMs: number;
  readonly callsPerSecond: number;
  readonly bytes: number;
  /** Of the calls that were made while the store was away, the percentage that it has when it is back and another program has run. */
  readonly kept: number;
  /** The same of a program that was killed. */
  readonly keptOfKilled: number;
  /** How long the end of a program took whose store was away, with its calls. */
  readonly awayMs: number;
}

const COLUMNS: readonly { name: string; unit: Unit; of: keyof Measured; best: 'most' | 'least' | null }[] = [
  { name: 'added to a call, median', unit: 'ms', of: 'addedMs', best: 'least' },
  { name: 'until its store has answered', unit: 'calls/s', of: 'callsPerSecond', best: 'most' },
  { name: 'stored of a call', unit: 'bytes', of: 'bytes', best: 'least' },
  { name: 'kept of calls made while the store was away', unit: '%', of: 'kept', best: null },
  { name: 'kept of those of a program that was killed then', unit: '%', of: 'keptOfKilled', best: null },
  { name: 'until a program with such calls ended, 60 s at most', unit: 'ms', of: 'awayMs', best: 'least' },
];

/**
 * Measures what it takes to record the calls of a program by autolog of Espalier, MLflow, Phoenix and Langfuse's client: the same
 * program calls a stand-in model server that answers at once. Installs what is missing from PyPI into Pythons of their own in the cache
 * folder; `--quick` measures Espalier only.
 */
export async function benchCalls(stage: Stage): Promise<BenchResult> {
  const own = await measureOwn(stage);
  const others: { name: string; runs: string; measured: Measured }[] = [];
  for (const system of stage.size === 'full' ? SYSTEMS : []) {
    if (system.calls === null) continue;
    const { script, services } = system.calls;
    const python = await installPython(system.pins);
    const name = system.pins[0].replace('==', ' ');
    process.stderr.write(`calls: recording by ${name}\n`);
    const measured = await withServer(system, python, (server) =>
      measureCalls(stage, python, script, { ...server, bytes: () => bytesIn(server.folder) }),
    );
    others.push({ name, runs: `lines added: ${measured.lines}; runs: ${services}`, measured });
  }
  const figures = COLUMNS.flatMap(({ name, unit, of, best }): readonly Figure[] => {
    const values = others.map((other) => ({ name: other.name, value: other.measured[of], unit }));
    const [first = null] = values.toSorted((a, b) => (best === 'most' ? b.value - a.value : a.value - b.value));
    const floor = unit === '%' ? ({ kind: 'at-least', limit: 100 } as const) : null;
    const figure = { name: `Espalier, ${name}`, value: own[of], unit, baseline: best && first, floor };
    return [figure, ...values.map((each) => ({ ...each, name: `${each.name}, ${name}`, baseline: null, floor: null }))];
  });
  return {
    bench: 'calls',
    figures,
    conditions: {
      ...stage.conditions(),
      calls: `${ROUNDS[stage.size]} times ${CALLS[stage.size]}, one after the other, with and without in turn`,
      request: '9 messages of 1.1 kB',
      answer: '250 characters, at once',
      Espalier: `lines added: ${own.lines}; runs: its server, with its Postgres`,
      ...Object.fromEntries(others.map(({ name, runs }) => [name, runs])),
    },
  };
}

/** Has autolog record into a platform of the stage, with API and projections in this process. */
async function measureOwn(stage: Stage): Promise<Measured> {
  const platform = await openStagePlatform(stage);
  const { database } = platform;
  const projector = await startInThread('project', platform, SILENT);
  stage.closing(() => projector.close());
  let server = await serveApi(platform, SILENT);
  stage.closing(() => server.close());
  const { url } = server;
  const { key } = await createKey(database.db, { name: 'bench', scopes: ['ingest', 'read'], projects: 'all' });
  const env = {
    PYTHONPATH: PYTHON_PACKAGE,
    ESPALIER_URL: url,
    ESPALIER_TOKEN: key,
    ESPALIER_SPOOL: await homeOf(stage),
  };
  const python = readConfig().python ?? (await installPython([OPENAI, 'httpx==0.28.1']));
  return measureCalls(stage, python, 'calls_espalier.py', {
    url,
    env,
    async bytes() {
      const { rows } = await database.pool.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
      return Number(rows[0]?.bytes);
    },
    leave: () => server.close(),
    async comeBack() {
      server = await serveApi({ ...platform, config: { ...platform.config, port: Number(new URL(url).port) } }, SILENT);
    },
  });
}

async function measureCalls(stage: Stage, python: string, name: string, store: Store): Promise<Measured> {
  const script = join(SCRIPTS, name);
  const [rounds, calls, away] = [ROUNDS[stage.size], CALLS[stage.size], AWAY_CALLS[stage.size]];
  const program = <T>(mode: string, many: number) => runScript<T>(python, script, [store.url, mode, `${many}`], store.env);
  const found = async (many: number) => (await program<{ found: number }>('count', many)).found;
  await program('recorded', calls); // what is done once in a store, and in the caches of the machine
  const [before, had] = [await store.bytes(), await found(calls)];
  const plain: Calls[] = [];
  const recorded: Calls[] = [];
  for (let round = 0; round < rounds; round++) {
    plain.push(await program('plain', calls));
    recorded.push(await program('recorded', calls));
  }
  const there = await found(had + rounds * calls);
  if (there !== had + rounds * calls) throw new Error(`${name}: ${there - had} of ${rounds * calls} calls are there`);
  const bytes = ((await store.bytes()) - before) / (rounds * calls);
  const kept = async (mode: 'away' | 'killed') => {
    const earlier = await found(0);
    const ms = await whileAway(python, [script, store.url, mode, `${away}`], store);
    return { ms, percent: (100 * ((await found(earlier + away)) - earlier)) / away };
  };
  const [ended, killed] = [await kept('away'), await kept('killed')];
  const middle = (of: readonly Calls[]) => median(of.flatMap(({ ms }) => ms));
  return {
    lines: recorded[0]?.lines ?? 0,
    addedMs: middle(recorded) - middle(plain),
    callsPerSecond: median(recorded.map(({ ms, seconds }) => ms.length / seconds)),
    bytes,
    kept: ended.percent,
    keptOfKilled: killed.percent,
    awayMs: ended.ms,
  };
}

/**
 * Runs a program whose store is away from its first call to its end; returns the milliseconds in between. @throws Error with what
 * the program printed where it ends before it calls.
 */
export async function whileAway(
  python: string,
  args: readonly string[],
  store: Pick<Store, 'env' | 'leave' | 'comeBack'>,
): Promise<number> {
  const child = spawn(python, args, {
    env: childEnvironment({ PYTHONDONTWRITEBYTECODE: '1', ...store.env }),
    stdio: 'pipe',
  });
  setTimeout(() => child.kill(), LONGEST_MS).unref(); // the option `timeout` waits also for what could not be started
  let printed = '';
  child.stderr.on('data', (chunk: Buffer) => {
    printed = (printed + chunk.toString()).slice(-2_000);
  });
  child.stdin.on('error', () => {}); // of a program that has ended
  let end = 0; // of itself: what it started may print on
  child.once('exit', () => {
    end = performance.now();
  });
  const ended = once(child, 'close'); // or rejects, where the program cannot be started
  const ready = await Promise.race([once(child.stdout, 'data'), ended.then(() => null)]);
  if (ready === null) throw new Error(`${args[0]} ended before its first call: ${printed}`);
  await store.leave();
  const began = performance.now();
  child.stdin.end('\n');
  await ended;
  await store.comeBack();
  return end - began;
}
