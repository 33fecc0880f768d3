import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { readConfig } from '../../runtime/config.ts';
import { pythonForTests } from '../../testing/python.ts';
import { projectResponse } from './project-response.ts';
import type { TemplateName } from './prompt-template.ts';

const found = await pythonForTests();
const python = found.kind === 'found' ? found.python : (readConfig().python ?? 'python3'); // it needs no package
const PROGRAM = fileURLToPath(new URL('./original_projections.py', import.meta.url));
const REPLIES = 10_000;

type Projected = readonly [
  world: TemplateName,
  reply: string,
  compression: boolean,
  action: string,
  valid: boolean,
  factor: number,
];

test('random replies have the action, the validity and the factor that the original of their world gives them', async () => {
  const stdout = await new Promise<string>((resolve, reject) => {
    execFile(python, [PROGRAM, '36', String(REPLIES)], { maxBuffer: 64 * 2 ** 20 }, (error, out) => {
      if (error) reject(error);
      else resolve(out);
    });
  });
  const cases = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Projected); // as the program writes it
  expect(cases).toHaveLength(5 * REPLIES);
  const otherwise = cases.filter(([world, reply, compression, ...original]) => {
    const { action, valid, factor } = projectResponse(world, reply, { compression });
    return JSON.stringify([action, valid, factor]) !== JSON.stringify(original);
  });
  expect(otherwise.slice(0, 5)).toEqual([]);
});
