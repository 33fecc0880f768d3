import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8');

test.each(['examples/trainer.py', 'examples/count-letters.ts'])('the README shows %s as it is run by its test', (example) => {
  expect(read('README.md')).toContain(read(example).trim());
});
