import { LOG_LEVELS, type LogLevel } from './config.ts';
import { escapeControls, escapeMessage } from './escape-controls.ts';

/**
 * The program's own log (not the event log): JSON lines for machines, short lines for people. Written here instead of taking
 * pino: it is sixty lines, and no place of this program logs often enough for pino's speed to be seen.
 */
export interface Logger {
  debug(message: string, fields?: Fields): void;
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** Returns a logger that adds these fields to every line. */
  with(fields: Fields): Logger;
}
export type Fields = Readonly<Record<string, unknown>>;

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly form: 'json' | 'human';
  readonly color: boolean;
  readonly write: (line: string) => void;
  readonly now: () => Date;
}

/** Makes a logger to stderr: human lines when it is a terminal, JSON lines otherwise. Every option can be set. */
export function createLogger(options: Partial<LoggerOptions> = {}): Logger {
  const terminal = process.stderr.isTTY === true;
  return bind(
    {
      level: 'info',
      form: terminal ? 'human' : 'json',
      color: terminal,
      write: (line) => void process.stderr.write(line),
      now: () => new Date(),
      ...options,
    },
    {},
  );
}

/** A logger that drops everything. */
export const SILENT: Logger = createLogger({ write: () => undefined });

function bind(options: LoggerOptions, bound: Fields): Logger {
  const lowest = LOG_LEVELS.indexOf(options.level);
  const at = (level: LogLevel) => (message: string, fields?: Fields) => {
    if (LOG_LEVELS.indexOf(level) < lowest) return;
    const all = { ...bound, ...fields };
    options.write(options.form === 'json' ? jsonLine(options, level, message, all) : humanLine(options, level, message, all));
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    with: (fields) => bind(options, { ...bound, ...fields }),
  };
}

function jsonLine({ now }: LoggerOptions, level: LogLevel, message: string, fields: Fields): string {
  // JSON leaves DEL, C1 and the characters of direction as they are, and a terminal may show these lines as well.
  return `${escapeControls(stringify({ time: now().toISOString(), level, message, ...fields }))}\n`;
}

const COLORS: Record<LogLevel, number> = { debug: 90, info: 32, warn: 33, error: 31 };

function humanLine({ now, color, level: lowest }: LoggerOptions, level: LogLevel, message: string, fields: Fields): string {
  const time = now().toISOString().slice(11, 19);
  const tag = color ? `\u001b[${COLORS[level]}m${level}\u001b[0m` : level;
  const parts = Object.entries(fields).map(([key, value]) => escapeMessage(`${key}=${shown(value)}`));
  const stacks = Object.values(fields).filter((value) => value instanceof Error && (lowest === 'debug' || isBug(value)));
  // filtered above
  const lines = [
    [time, tag, escapeMessage(message), ...parts].join(' '),
    ...stacks.map((error) => `  ${escapeMessage((error as Error).stack ?? '')}`),
  ];
  return `${lines.join('\n')}\n`;
}

/** The errors that Node throws for wrong code: people need to see where. */
function isBug(error: unknown): boolean {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
}

function shown(value: unknown): string {
  if (value instanceof Error) return value.message;
  if (typeof value === 'string' && /^[\w./:@-]+$/.test(value)) return value;
  return stringify(value);
}

/** Never throws: a log line must not be what ends a worker. */
function stringify(value: unknown): string {
  const seen = new WeakSet<object>();
  try {
    return (
      JSON.stringify(value, (_key, item: unknown) => {
        if (typeof item === 'bigint') return item.toString();
        if (item instanceof Error)
          return { ...item, name: item.name, message: item.message, stack: item.stack, cause: item.cause };
        if (typeof item !== 'object' || item === null) return item;
        if (seen.has(item)) return '[seen above]';
        seen.add(item);
        return item;
      }) ?? 'undefined'
    );
  } catch (error) {
    return JSON.stringify({ unprintable: String(error) });
  }
}
