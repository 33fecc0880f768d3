import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { print, printError, table } from './terminal.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NAME = 'mine\nyours  forged\x1b[2J\u202e';

describe('terminal output', () => {
  test('a text is one line whatever it holds, and a list is a line each', () => {
    expect(written('stdout', () => print(NAME))).toBe('mine\\u000ayours  forged\\u001b[2J\\u202e\n');
    expect(written('stdout', () => print(['one', ['two', `three ${NAME}`]]))).toBe(
      'one\ntwo\nthree mine\\u000ayours  forged\\u001b[2J\\u202e\n',
    );
  });

  test('a message of several lines goes on indented', () => {
    expect(written('stderr', () => printError(`espalier: failed: ${NAME}`))).toBe(
      'espalier: failed: mine\n  yours  forged\\u001b[2J\\u202e\n',
    );
  });

  test('header and cells of a table are escaped before they are aligned', () => {
    expect(table([NAME, 'n'], [['a\tb', 1]])).toEqual([
      'mine\\u000ayours  forged\\u001b[2J\\u202e  n',
      `${'─'.repeat(38)}  ─`,
      `a\\u0009b${' '.repeat(30)}  1`,
    ]);
  });

  test('no other file of the program writes to stdout or stderr by itself', () => {
    const files = ['src', 'graphql', 'workers'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    );
    const own = files.filter((name) => /(?<!\.test|\.contract)\.ts$/.test(name) && !/^src\/(testing|conformance)\//.test(name));
    expect(own.length).toBeGreaterThan(500);
    const writers = own.filter((name) =>
      /\b(process\.(stdout|stderr)\.write|console\.\w+)\(/.test(readFileSync(join(ROOT, name), 'utf8')),
    );
    // the supervisor of Postgres says to its user why it cannot start one
    expect(writers).toEqual(['src/cli/terminal.ts', 'src/postgres/embedded-server-supervisor.ts', 'src/runtime/logger.ts']);
  });
});

function written(stream: 'stdout' | 'stderr', write: () => void): string {
  const own = process[stream].write;
  let text = '';
  process[stream].write = (chunk: unknown) => {
    text += String(chunk);
    return true;
  };
  try {
    write();
  } finally {
    process[stream].write = own;
  }
  return text;
}
