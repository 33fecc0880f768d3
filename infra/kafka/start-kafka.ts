import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePort } from '../../src/runtime/free-port.ts';
import { retry } from '../../src/runtime/retry.ts';
import { isAlive } from '../../src/runtime/this-process.ts';
import { answers } from './answers.ts';
import { brokerProperties } from './broker-properties.ts';

interface StartKafkaOptions {
  /** Keeps the data here, over stops and kills. Without it the data is temporary and removed by `stop`. */
  readonly folder?: string;
  /** Listens there; without it on a free port. */
  readonly port?: number;
  /** Properties of the broker that differ from those of `brokerProperties`. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** More arguments of the tool that prepares its folder, such as `--add-scram`. */
  readonly format?: readonly string[];
  /** Where the broker's jars are kept. */
  readonly cache?: string;
  /** Stops the broker when it fires. */
  readonly signal?: AbortSignal;
}

export interface RunningKafka {
  readonly brokers: readonly string[];
  readonly port: number;
  readonly folder: string;
  /** The broker's own process. */
  readonly pid: number;
  /** Resolves when the broker's process has ended, for whatever reason. */
  readonly ended: Promise<void>;
  /** Stops the broker, and removes its data when the folder was temporary. */
  stop(): Promise<void>;
  /** Kills the broker with SIGKILL and leaves its data, as a crash would: start it again with the same folder and port. */
  kill(): Promise<void>;
}

const START_MS = 60_000;
const STOP_MS = 20_000;
const PORT_TRIES = 3; // a free port may be taken by another between its choice and the broker's start

// A small heap, and no time spent on optimising code that runs for seconds.
const JVM = ['-Xmx384m', '-Xms128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto'];
const QUIET = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-Dorg.slf4j.simpleLogger.showDateTime=true'];

/**
 * Starts a real Kafka broker (one KRaft node) on this machine and waits until it answers. It dies with this process, however
 * this process ends. @throws Error that says what to install, or what the broker wrote before it gave up.
 */
export async function startKafka(options: StartKafkaOptions = {}): Promise<RunningKafka> {
  const prerequisites = kafkaPrerequisites();
  if (!prerequisites.ok) throw new Error(prerequisites.reason);
  const cache = options.cache ?? KAFKA_CACHE;
  const classpath = join(await fetchKafkaJars(cache), '*');
  const temporary = options.folder === undefined;
  const folder = options.folder === undefined ? await temporaryFolder(cache) : resolve(options.folder);
  await mkdir(folder, { recursive: true });
  try {
    const start = async () =>
      startNode({
        classpath,
        folder,
        temporary,
        port: options.port ?? (await freePort()),
        settings: options.settings ?? {},
        format: options.format ?? [],
        signal: options.signal,
      });
    const isPortTaken = (error: unknown) => error instanceof Error && /Address already in use/.test(error.message);
    return await retry(start, {
      again: ({ error, tries }) => isPortTaken(error) && tries < PORT_TRIES && options.port === undefined,
      pauseMs: 0,
    });
  } catch (error) {
    if (temporary) await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Makes a folder named after this process, and removes those of processes that were killed before they could. */
async function temporaryFolder(cache: string): Promise<string> {
  for (const name of await readdir(cache)) {
    const owner = /^broker-(\d+)-/.exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) await rm(join(cache, name), { recursive: true, force: true });
  }
  return mkdtemp(join(cache, `broker-${process.pid}-`));
}

interface Node {
  readonly classpath: string;
  readonly folder: string;
  readonly temporary: boolean;
  readonly settings: Readonly<Record<string, string | number>>;
  readonly format: readonly string[];
  readonly port: number;
  readonly signal: AbortSignal | undefined;
}

async function startNode({ classpath, folder, temporary, port, settings, format: more, signal }: Node): Promise<RunningKafka> {
  signal?.throwIfAborted();
  const properties = join(folder, 'server.properties');
  await writeFile(properties, brokerProperties({ folder, port, controllerPort: await freePort() }, settings));
  const clusterId = await format(classpath, folder, properties, more);
  const log = join(folder, 'broker.log');
  const { guard, pid, ended } = await spawnGuarded([...JVM, ...QUIET, '-cp', classpath, 'kafka.Kafka', properties], log);
  const end = async (signalName: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
    if (guard.exitCode === null && guard.signalCode === null) kill(pid, signalName);
    const late = setTimeout(() => kill(pid, 'SIGKILL'), STOP_MS);
    await ended;
    clearTimeout(late);
  };
  const stop = async (): Promise<void> => {
    await end(temporary ? 'SIGKILL' : 'SIGTERM'); // data that is thrown away needs no orderly end
    if (temporary) await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  try {
    await answering({ port, clusterId, guard, log, signal });
  } catch (error) {
    await end('SIGKILL');
    throw error;
  }
  signal?.addEventListener('abort', () => void stop(), { once: true });
  return { brokers: [`127.0.0.1:${port}`], port, folder, pid, ended, stop, kill: () => end('SIGKILL') };
}

/** Prepares an empty folder as a KRaft node; one that is prepared already keeps its data. Returns the cluster's id. */
async function format(classpath: string, folder: string, properties: string, more: readonly string[]): Promise<string> {
  const meta = await readFile(join(folder, 'data', 'meta.properties'), 'utf8').catch(() => '');
  const known = /^cluster\.id=(.+)$/m.exec(meta)?.[1];
  if (known !== undefined) return known;
  const clusterId = randomBytes(16).toString('base64url').replace(/^-/, '_'); // a leading dash would read as an option
  const tool = ['kafka.tools.StorageTool', 'format', '--cluster-id', clusterId, '--config', properties, ...more];
  await promisify(execFile)(javaProgram(), [...JVM, ...QUIET, '-cp', classpath, ...tool], { timeout: START_MS });
  return clusterId;
}

/**
 * A shell is between this process and the broker. It holds the reading end of a pipe whose writing end only this process has:
 * when this process ends in any way, SIGKILL included, the pipe closes and the shell's watcher kills the broker. When the
 * broker ends first, the shell ends the watcher, so that it can never hit a process that was given the same number later.
 */
const GUARD = `
exec 3<&0 </dev/null 2>>"$BROKER_LOG"
"$@" >&2 3<&- &
broker=$!
echo $broker
{ cat <&3; kill -9 $broker; } >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait $broker
kill $watcher 2>/dev/null
`;

async function spawnGuarded(
  args: readonly string[],
  log: string,
): Promise<{ guard: ChildProcess; pid: number; ended: Promise<void> }> {
  const guard = spawn('sh', ['-c', GUARD, 'kafka-guard', javaProgram(), ...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: { ...process.env, BROKER_LOG: log },
    detached: true, // Ctrl-C in a terminal reaches this process alone, which then stops the broker in order
  });
  const ended = once(guard, 'exit')
    .then(
      () => guard.stdin?.destroy(),
      () => undefined,
    )
    .then(() => undefined);
  for await (const line of createInterface(guard.stdout)) return { guard, pid: Number(line), ended };
  throw new Error('the shell that guards the broker ended at once');
}

interface Start {
  readonly port: number;
  readonly clusterId: string;
  readonly guard: ChildProcess;
  readonly log: string;
  readonly signal: AbortSignal | undefined;
}

async function answering({ port, clusterId, guard, log, signal }: Start): Promise<void> {
  const end = Date.now() + START_MS;
  while (!(await answers(port, clusterId))) {
    signal?.throwIfAborted();
    if (guard.exitCode !== null) throw new Error(`the Kafka broker ended before it answered:\n${await logTail(log)}`);
    if (Date.now() > end) throw new Error(`the Kafka broker did not answer within ${START_MS} ms:\n${await logTail(log)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function logTail(log: string): Promise<string> {
  return (await readFile(log, 'utf8').catch(() => '')).trim().split('\n').slice(-15).join('\n');
}

function kill(pid: number, signalName: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signalName);
  } catch {
    // it has ended by itself
  }
}

type Prerequisites = { readonly ok: true } | { readonly ok: false; readonly reason: string };

const OLDEST_JAVA = 17; // Kafka 4 refuses older ones

/** Returns whether a broker can be started here: Java 17 or newer, and Maven unless the broker's jars were fetched before. */
export function kafkaPrerequisites(): Prerequisites {
  const java = javaVersion();
  if (java === undefined)
    return missing('Java was not found; install a JRE 17 or newer (Debian: apt install openjdk-17-jre-headless)');
  if (java < OLDEST_JAVA) return missing(`Java ${java} is too old; install a JRE 17 or newer and point JAVA_HOME to it`);
  if (!haveKafkaJars() && !onPath('mvn')) return missing('Maven was not found; install it (Debian: apt install maven)');
  return { ok: true };
}

/** Returns the java program to run: that of JAVA_HOME, or the first on the path. */
function javaProgram(): string {
  return process.env.JAVA_HOME ? join(process.env.JAVA_HOME, 'bin', 'java') : 'java';
}

function javaVersion(): number | undefined {
  const { stderr, error } = spawnSync(javaProgram(), ['-version'], { encoding: 'utf8', timeout: 20_000 });
  const major = error ? undefined : /version "(?:1\.)?(\d+)/.exec(stderr)?.[1];
  return major === undefined ? undefined : Number(major);
}

function onPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, program)));
}

function missing(reason: string): Prerequisites {
  return { ok: false, reason: `no local Kafka: ${reason}, or set KAFKA_BROKERS to a running cluster` };
}

const HERE = import.meta.dirname;

/** Where fetched jars and brokers' data lie by default; git ignores it. */
const KAFKA_CACHE = resolve(HERE, '../../.espalier/kafka');

/** Named after the version in pom.xml, so that a new version is fetched again. */
const FOLDER = 'jars-4.1.0';

/** Returns whether the jars were fetched before. */
function haveKafkaJars(cache: string = KAFKA_CACHE): boolean {
  return existsSync(join(cache, FOLDER));
}

/**
 * Fetches the broker's jars by Maven, once, and returns their folder. Processes that do it at the same time do not disturb
 * each other: each fetches into a folder of its own, and the rename of a whole folder decides who was first.
 * @throws Error with the end of Maven's output when it failed.
 */
async function fetchKafkaJars(cache: string = KAFKA_CACHE): Promise<string> {
  const jars = join(cache, FOLDER);
  if (existsSync(jars)) return jars;
  await mkdir(cache, { recursive: true });
  const mine = await mkdtemp(join(cache, 'fetching-'));
  try {
    await runMaven(mine);
    await rename(join(mine, 'jars'), jars).catch((error: NodeJS.ErrnoException) => {
      if (!existsSync(jars)) throw error; // another process was first: its folder is as good
    });
    return jars;
  } finally {
    await rm(mine, { recursive: true, force: true });
  }
}

async function runMaven(folder: string): Promise<void> {
  await copyFile(join(HERE, 'pom.xml'), join(folder, 'pom.xml')); // Maven writes next to its pom; the repository stays clean
  const goal = ['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${join(folder, 'jars')}`];
  try {
    await promisify(execFile)('mvn', ['-q', '-B', ...goal], { cwd: folder, timeout: 300_000 });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }; // what execFile adds to its error
    const words = `${stdout}${stderr}`.trim().split('\n').slice(-8).join('\n');
    throw new Error(`Maven could not fetch the Kafka broker (it needs Maven Central or a mirror of it):\n${words}`, {
      cause: error,
    });
  }
}
