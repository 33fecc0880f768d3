import type { Command } from 'commander';
import { isUnreachable, type OpenOptions, openPlatform, type Platform } from '../platform/open-platform.ts';
import { readConfig } from '../runtime/config.ts';
import { stoppable } from './stoppable.ts';
import { throughOutages } from './through-outages.ts';

/**
 * Opens the platform for one command and closes it after, however the command ends; while Postgres or Kafka is away it waits. Ctrl-C
 * aborts the signal first. @throws Stopped.
 */
export async function withPlatform<T>(
  name: string,
  use: (platform: Platform, signal: AbortSignal) => Promise<T>,
  options: OpenOptions = {},
): Promise<T> {
  return stoppable(async (signal) => {
    const config = readConfig();
    const platform = await throughOutages(signal, () => openPlatform(config, name, options), isUnreachable).catch((error) => {
      throw signal.aborted && isUnreachable(error) ? signal.reason : error; // it came while an attempt was made
    });
    try {
      signal.throwIfAborted(); // it came while the platform was opened
      return await use(platform, signal);
    } finally {
      await platform.close();
    }
  });
}

/**
 * Opens the platform as `withPlatform` does for a command that reads, and prints or writes when it has read everything: where Postgres or
 * Kafka goes away meanwhile, it waits and begins again.
 */
export function withPlatformToRead<T>(...[name, use, options]: Parameters<typeof withPlatform<T>>): Promise<T> {
  return withPlatform(name, (platform, signal) => throughOutages(signal, () => use(platform, signal)), options);
}

/** Returns whether results are wanted as JSON: a flag of the whole program, which commander keeps at the root. */
export function wantsJson(command: Command): boolean {
  return command.optsWithGlobals<{ json?: boolean }>().json === true;
}

/** Parses a whole number of a command line. @throws Error that names the option. */
export function wholeNumber(option: string, min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^-?\d+$/.test(text) || value < min || value > max)
      throw new Error(`${option} takes a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`);
    return value;
  };
}

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i; // `Number` also reads '', '0x10' and 'Infinity'

/** Parses a number of a command line. @throws Error that names the option. */
export function numberBetween(option: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max))
      throw new Error(`${option} takes a number from ${min} to ${max}, not ${JSON.stringify(text)}`);
    return value;
  };
}
