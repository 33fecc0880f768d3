import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isModule } from './load-export.ts';
import { loadTool } from './load-tool.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tools-'));
});
afterAll(() => rm(folder, { recursive: true }));
const given = async (name: string, source: string) => {
  const file = join(folder, name);
  await writeFile(file, source);
  return file;
};
const signal = new AbortController().signal;

test('a path names a module, and a bare word names a tool', () => {
  for (const text of ['./a.ts', '../a.js#b', '/a/b.mjs', 'a.ts', 'a.mts#x', '.\\a'.replace('\\', '/')])
    expect(isModule(text)).toBe(true);
  for (const text of ['search', 'qa-em-format@legacy-1', 'python', '']) expect(isModule(text)).toBe(false);
});

test('a tool keeps its own `this`, and its schema is completed', async () => {
  const file = await given(
    'counter.mjs',
    'export const tool = { name: "count", description: "Counts.", calls: 0, execute() { return String(++this.calls); } };',
  );
  const tool = await loadTool(file);
  expect(tool.parameters).toEqual({ type: 'object', properties: {}, required: [] });
  await tool.execute({}, signal);
  expect(await tool.execute({}, signal)).toBe('2');
});

test('the fingerprint of a tool is that of its file, and a file changed after loading is refused', async () => {
  const source = (said: string) => `export const tool = { name: "say", description: "Says.", execute: () => "${said}" };`;
  const first = await loadTool(await given('say.mjs', source('one')));
  expect((await loadTool(await given('same.mjs', source('one')))).fingerprint).toBe(first.fingerprint);
  expect((await loadTool(await given('other.mjs', source('two')))).fingerprint).not.toBe(first.fingerprint);
  await expect(loadTool(await given('say.mjs', source('two')))).rejects.toThrow('was changed since this process loaded it');
});

describe('refused tools', () => {
  test.each([
    ['no name', '{ description: "d", execute() {} }', 'name: '],
    ['a name with blanks', '{ name: "a b", description: "d", execute() {} }', 'name: must be 1 to 64'],
    ['no description', '{ name: "a", description: "", execute() {} }', 'description: must say what the tool does'],
    ['nothing to execute', '{ name: "a", description: "d", execute: 5 }', 'execute: must be a function'],
    ['another type', '{ name: "a", description: "d", execute() {}, parameters: { type: "array" } }', 'parameters.type'],
    [
      'an unknown requirement',
      '{ name: "a", description: "d", execute() {}, parameters: { required: ["x"] } }',
      'required names',
    ],
    ['null', 'null', 'the export'],
  ])('a tool with %s is refused by its field', async (_what, source, message) => {
    const file = await given(`bad-${Math.random().toString(36).slice(2)}.mjs`, `export const tool = ${source};`);
    await expect(loadTool(file)).rejects.toMatchObject({ name: 'ToolError', message: expect.stringContaining(message) });
  });

  test('a module that fails to load reports why', async () => {
    const file = await given('throws.mjs', 'throw new Error("no licence");');
    await expect(loadTool(file)).rejects.toThrow('the module cannot be loaded: no licence');
  });
});
