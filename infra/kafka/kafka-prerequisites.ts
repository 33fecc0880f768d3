import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { haveKafkaJars } from './kafka-jars.ts';

export type Prerequisites = { readonly ok: true } | { readonly ok: false; readonly reason: string };

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
