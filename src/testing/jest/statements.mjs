import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';

const seen = new Set();
let written = 0;

/** Remembers the text of every statement that this worker sends to Postgres. */
export function watchStatements() {
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function watched(statement, ...rest) {
    const text = typeof statement === 'string' ? statement : statement?.text;
    if (typeof text === 'string') seen.add(text);
    return query.call(this, statement, ...rest);
  };
}

/** Adds to the run's folder what a file sent first. */
export function writeStatements(folder) {
  const lines = [...seen].slice(written).map((text) => `${JSON.stringify(text)}\n`);
  written = seen.size;
  if (lines.length > 0) appendFileSync(join(folder, `statements-${process.pid}.jsonl`), lines.join(''));
}

/** Returns what the workers of a run sent. */
export function readStatements(folder) {
  const files = readdirSync(folder).filter((name) => /^statements-\d+\.jsonl$/.test(name));
  return files.flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  );
}
