import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { productFiles } from './testing/product-files.ts';

/** Calls whose number of arguments a list decides: a hundred thousand of them overflow the stack. */
const SPREAD =
  /(?:\.(?:push|unshift|splice)|Math\.(?:max|min|hypot)|String\.from(?:CharCode|CodePoint))\(\s*(?:[^(){}[\];]+,\s*)?\.\.\./g;

const spreadsIn = (source: string) => source.match(SPREAD) ?? [];

test('no list is spread over the arguments of a call that takes any number: add its items one by one, or use domain/extremes', () => {
  const studio = readdirSync('studio/src', { recursive: true, encoding: 'utf8' }).map((name) => `studio/src/${name}`);
  const files = [...productFiles(), ...studio.filter((name) => /(?<!\.test)\.tsx?$/.test(name))];
  expect(files.flatMap((file) => spreadsIn(readFileSync(file, 'utf8')).map((found) => `${file}: ${found}`))).toEqual([]);
});

test.each(['a.push(...b)', 'a.b().push(\n  ...(await c()),\n)', 'Math.max(0, ...a.map(b))', 'a.push(b, ...c)'])(
  '%j is found',
  (source) => {
    expect(spreadsIn(source)).toHaveLength(1);
  },
);

test.each(['a.push({ ...b })', 'a.push([...b])', 'a.push(f(...b))', 'new Set([...a])'])('%j is not', (source) => {
  expect(spreadsIn(source)).toEqual([]);
});
