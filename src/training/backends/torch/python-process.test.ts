import { existsSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '../../../testing/until.ts';
import { startPython } from './python-process.ts';

const { signal } = new AbortController();
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-python-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Writes a program that takes the place of the interpreter. */
async function interpreter(name: string, script: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return file;
}

/**
 * Whether a process runs. One that was killed and that nobody has waited for yet does not (an orphan in a container without an
 * init).
 */
function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const file = `/proc/${pid}/stat`;
  return !(existsSync(file) && readFileSync(file, 'utf8').includes(') Z '));
}

describe('the training process', () => {
  test('the process completes the handshake, answers errors with their code, and has gone after a close', async () => {
    const python = await startPython('python3', signal);
    try {
      expect(python.facts).toMatchObject({ protocol: 1, version: expect.any(String), python: expect.any(String) });
      await expect(python.request({ kind: 'eval' }, { timeoutMs: 60_000, signal })).rejects.toMatchObject({
        name: 'BackendFailed',
        code: 'refused',
        message: expect.stringContaining("there is no request 'eval'"),
      });
      await expect(python.request({ kind: 'encode', chats: [] }, { timeoutMs: 60_000, signal })).rejects.toMatchObject({
        message: 'no model is open',
      });
    } finally {
      await python.close();
    }
    expect(alive(python.pid)).toBe(false);
    await expect(python.request({ kind: 'encode' }, { timeoutMs: 1, signal })).rejects.toMatchObject({ code: 'ended' });
  });

  test('a process that ends is a failure with the tail of its stderr', async () => {
    const python = await interpreter('dies', 'echo "No module named espalier_rl.trainer" >&2; exit 3');
    await expect(startPython(python, signal)).rejects.toMatchObject({
      name: 'BackendFailed',
      code: 'ended',
      message: 'the training process ended with 3; it said last:\nNo module named espalier_rl.trainer',
    });
  });

  test('a missing executable is a failure', async () => {
    await expect(startPython(join(folder, 'nowhere'), signal)).rejects.toMatchObject({
      code: 'ended',
      message: expect.stringContaining('did not start'),
    });
  });

  test('a process that prints something other than a frame is a protocol failure', async () => {
    const python = await interpreter('prints', 'echo "Loading weights: 100%"; cat > /dev/null');
    await expect(startPython(python, signal)).rejects.toMatchObject({ code: 'protocol' });
  });

  test('an aborted process is ended with its children', async () => {
    const stopping = new AbortController();
    const pids = join(folder, 'pids');
    const python = await interpreter('hangs', `sleep 600 & echo $! $$ > ${pids}; wait`);
    const starting = startPython(python, stopping.signal);
    const ended = expect(starting).rejects.toThrow('the lease was lost');
    let started: readonly number[] = [];
    await until(async () => {
      started = (await readFile(pids, 'utf8').catch(() => '')).trim().split(' ').map(Number);
      return started.length === 2;
    });
    stopping.abort(new Error('the lease was lost'));
    await ended;
    await until(() => !started.some(alive));
  });

  test('an error that comes after its request was answered is why the process ended', async () => {
    const frame = (json: string) => `printf 'ESPF\\076\\000\\000\\000\\000\\000\\000\\000${json}'`;
    const answer = frame('{"id":1,"kind":"ok","protocol":1,"version":"0","torch":"slow"}');
    const late = frame('{"id":1,"kind":"error","code":"memory","message":"it is full"}');
    const python = await startPython(await interpreter('late', `${answer}; ${late}; cat > /dev/null`), signal);
    const asked = python.request({ kind: 'update' }, { timeoutMs: 60_000, signal });
    await expect(asked).rejects.toMatchObject({ code: 'memory', message: 'it is full' });
    await python.close();
  });

  test('a process that exceeds the time limit of a request is ended', async () => {
    const answer = `printf 'ESPF\\076\\000\\000\\000\\000\\000\\000\\000{"id":1,"kind":"ok","protocol":1,"version":"0","torch":"slow"}'`;
    const python = await startPython(await interpreter('slow', `${answer}; cat > /dev/null`), signal);
    await expect(python.request({ kind: 'update' }, { timeoutMs: 50, signal })).rejects.toMatchObject({ code: 'timeout' });
    await python.close();
    expect(python.ended()).toBe(true);
  });
});
