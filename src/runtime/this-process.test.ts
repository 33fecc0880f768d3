import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { expect, test } from '@jest/globals';
import { hasEnded, inWords, thisProcess } from './this-process.ts';

test('this process is named by its number and machine, and has not ended', () => {
  expect(inWords(thisProcess())).toBe(`pid ${process.pid} on ${hostname()}`);
  expect(hasEnded(thisProcess())).toBe(false);
});

test('a process of this machine that ended is known to have ended', async () => {
  const child = spawn(process.execPath, ['-e', '']);
  const named = thisProcess().replace(`pid ${process.pid} `, `pid ${child.pid} `);
  await once(child, 'exit');
  expect(hasEnded(named)).toBe(true);
});

test('another process that has the number of one that ended is recognised by its start', () => {
  expect(hasEnded(thisProcess().replace(/\d+\)$/, '1)'))).toBe(process.platform === 'linux');
});

test.each([
  ['another host', (named: string) => named.replace(hostname(), 'elsewhere')],
  ['an earlier start of the machine', (named: string) => named.replace(/\(\w/, '(x')],
  ['no process at all', () => 'somebody'],
])('nothing is known of a process of %s', (_, other) => {
  expect(hasEnded(other(thisProcess()).replace(/\d+\)$/, '1)'))).toBe(false);
});
