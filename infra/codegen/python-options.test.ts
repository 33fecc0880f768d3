import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { pythonOptions } from './python-options.ts';

test('the options of a training in Python are those of the declaration (npm run codegen:python-options writes them)', () => {
  const file = new URL('../../python/espalier_rl/training/options.py', import.meta.url);
  expect(readFileSync(file, 'utf8')).toBe(pythonOptions());
});
