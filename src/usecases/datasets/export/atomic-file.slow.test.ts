import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AtomicFile } from './atomic-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-atomic-'));
});
afterEach(() => rm(folder, { recursive: true }));

const MODULE = fileURLToPath(new URL('./atomic-file.ts', import.meta.url));

/** Runs code that knows `AtomicFile` and `out` in a process of its own; returns what it printed and how it ended. */
function inProcess(code: string, prefix = '', killAt?: string): Promise<{ printed: string; signal: string | null }> {
  const script = `import { AtomicFile } from ${JSON.stringify(MODULE)}; const out = ${JSON.stringify(join(folder, 'data'))}; ${code}`;
  const child = spawn('bash', ['-c', `${prefix} exec "$0" --import tsx --input-type=module -e "$1"`, process.execPath, script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve) => {
    let printed = '';
    child.stdout.on('data', (chunk) => {
      printed += chunk;
      if (killAt !== undefined && printed.includes(killAt)) child.kill('SIGKILL');
    });
    child.on('close', (_, signal) => resolve({ printed, signal }));
  });
}

describe('atomic files', () => {
  test('a file appears under its name whole, with the size and digest of its content', async () => {
    const out = join(folder, 'data');
    const file = await AtomicFile.open(out, 'refuse');
    await file.write('grüße ');
    await file.write(Buffer.alloc(1_000_000, 'x'));
    expect(await readdir(folder)).not.toContain('data');
    const sealed = await file.seal();
    await file.publish();
    const content = await readFile(out);
    expect(sealed).toEqual({ bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') });
    expect(content.subarray(0, 9).toString()).toBe('grüße x');
    await file.discard();
    expect(await readdir(folder)).toEqual(['data']);
  });

  test('bytes that the caller changes after the write are written as they were', async () => {
    const bytes = Buffer.from('mine');
    const file = await AtomicFile.open(join(folder, 'data'), 'refuse');
    await file.write(bytes);
    bytes.fill('?');
    await file.seal();
    await file.publish();
    expect(await readFile(join(folder, 'data'), 'utf8')).toBe('mine');
  });

  test('a discarded file leaves nothing behind', async () => {
    const file = await AtomicFile.open(join(folder, 'data'), 'refuse');
    await file.write('x'.repeat(1_000_000));
    await file.discard();
    expect(await readdir(folder)).toEqual([]);
  });

  test('a killed writer leaves nothing under the name, and its temporary file is removed once it is old', async () => {
    const { signal } = await inProcess(
      `const file = await AtomicFile.open(out, 'refuse'); await file.write('x'.repeat(1_000_000)); console.log('written'); setInterval(() => {}, 1_000);`,
      '',
      'written',
    );
    expect(signal).toBe('SIGKILL');
    const [rest] = await readdir(folder);
    expect(rest).toMatch(/^\.data\.[0-9a-f]{12}\.partial$/);
    await (await AtomicFile.open(join(folder, 'data'), 'refuse')).discard();
    expect(await readdir(folder)).toEqual([rest]);
    await utimes(join(folder, rest ?? ''), new Date(0), new Date(0));
    await (await AtomicFile.open(join(folder, 'data'), 'refuse')).discard();
    expect(await readdir(folder)).toEqual([]);
  });

  test('a full disk is reported, and nothing is left behind', async () => {
    // A limit on file size represents a full disk: the same write fails at the same place, with EFBIG instead of ENOSPC.
    const { printed } = await inProcess(
      `const file = await AtomicFile.open(out, 'refuse');
       try { for (;;) await file.write('x'.repeat(100_000)); } catch (error) { console.log(error.code, error.message); } finally { await file.discard(); }`,
      `trap '' XFSZ; ulimit -f 1024;`,
    );
    expect(printed).toContain('cannot-write cannot write');
    expect(printed).toContain('the file may not grow further');
    expect(await readdir(folder)).toEqual([]);
  });

  test('an existing file is refused before anything is written', async () => {
    await writeFile(join(folder, 'data'), 'mine');
    await expect(AtomicFile.open(join(folder, 'data'), 'refuse')).rejects.toMatchObject({ code: 'file-exists' });
    expect(await readdir(folder)).toEqual(['data']);
  });
});
