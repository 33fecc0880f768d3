import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readSecret } from './named-secret.ts';

test('a secret by name is read from the file that its variable with _FILE names, which others may not read', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-named-'));
  try {
    const file = join(folder, 'key');
    await writeFile(file, 'sk-1\n', { mode: 0o400 });
    process.env.ESPALIER_SECRET_MODEL_FILE = file;
    expect(readSecret('MODEL')).toBe('sk-1');
    await chmod(file, 0o444);
    expect(() => readSecret('MODEL')).toThrow(/other accounts may read; run `chmod 600`.*ESPALIER_SECRET_MODEL_FILE/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
