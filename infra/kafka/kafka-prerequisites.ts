import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';

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
export function javaProgram(): string {
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
export const KAFKA_CACHE = resolve(HERE, '../../.espalier/kafka');

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
export async function fetchKafkaJars(cache: string = KAFKA_CACHE): Promise<string> {
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
