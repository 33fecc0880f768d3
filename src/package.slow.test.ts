import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { productFiles } from './testing/product-files.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

test('the package holds every file that a program reads from its place, and no test', () => {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 26 }),
  ) as readonly { readonly files: readonly { readonly path: string }[] }[];
  const paths = packed?.files.map(({ path }) => path) ?? [];
  const read = productFiles()
    .filter((file) => !/(^|\/)(codegen[\w-]*|vector-world)\.ts$/.test(file)) // programs of developers
    .flatMap((file) =>
      [...readFileSync(join(ROOT, file), 'utf8').matchAll(/new URL\(['`](\.\.?\/[^'`$]*)/g)].map(([, target = '']) =>
        normalize(join(dirname(file), target)),
      ),
    );
  expect(read.length).toBeGreaterThan(10);
  expect(read.filter((target) => !target.startsWith('dist/') && !paths.some((path) => path.startsWith(target)))).toEqual([]);
  expect(paths.filter((path) => path.endsWith('/tables.sql')).length).toBeGreaterThan(15);
  expect(paths.filter((path) => /\.test\.|contract|testing|fixture|__pycache__/.test(path))).toEqual([]);
});
