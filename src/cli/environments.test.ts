import { expect, test } from '@jest/globals';
import { runEspalier } from '../testing/worker-process.ts';

test('espalier environments lists every environment with its options, or the one that is named', async () => {
  const all = await runEspalier(['environments'], {});
  expect([all.code, all.stderr]).toEqual([0, '']);
  for (const name of ['textcraft', 'search-qa', 'tool-env', 'echo', 'agentgym', 'module']) expect(all.stdout).toContain(name);
  const one = await runEspalier(['environments', 'textcraft'], {});
  expect(one.stdout).toContain('recipe files');
  expect(one.stdout).not.toContain('search-qa');
});

test('espalier environments refuses an unknown name, and names those that there are', async () => {
  const { code, stderr } = await runEspalier(['environments', 'nope'], {});
  expect(code).toBe(1);
  expect(stderr).toContain('there is no environment nope; there are textcraft, search-qa');
});
