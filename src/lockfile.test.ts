import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const text = readFileSync(fileURLToPath(new URL('../npm-shrinkwrap.json', import.meta.url)), 'utf8');
const { packages } = JSON.parse(text) as {
  packages: Record<string, { optionalDependencies?: Record<string, string>; resolved?: string }>;
};

test('the lock file contains the optional packages of every platform, which `npm ci` requires (fix: npx tsx infra/complete-lock.ts)', () => {
  const locked = new Set(
    Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)),
  );
  const missing = Object.values(packages).flatMap(({ optionalDependencies = {} }) =>
    Object.keys(optionalDependencies).filter((name) => !locked.has(name)),
  );
  expect(missing).toEqual([]);
});

test('the lock file names no address: packages come from the registry that npm is set to', () => {
  expect(Object.values(packages).filter(({ resolved }) => resolved !== undefined)).toEqual([]);
});
