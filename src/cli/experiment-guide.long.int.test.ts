import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse, validate } from 'graphql';
import { createExecutableSchema } from '../../graphql/schema.ts';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';
import { experimentOf, readExperimentFile } from '../usecases/experiment/declaration/parse-experiment.ts';

let platform: Platform & { readonly home: string };
let folder: string;
beforeAll(async () => {
  platform = await openTestPlatform();
  folder = await mkdtemp(join(tmpdir(), 'espalier-guide-'));
});
afterAll(async () => {
  await killRunning();
  await platform.close();
  await rm(folder, { recursive: true });
});

const guide = await readFile(new URL('../../docs/guides/experiments.md', import.meta.url), 'utf8');
const blockOf = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(guide)?.[1] ?? '';

/** Runs a command of the guide's table, with its words replaced; returns what it printed. */
async function printed(command: string, words: Readonly<Record<string, string>> = {}): Promise<string> {
  expect(guide).toContain(`\`espalier ${command}\``);
  const args = command.split(' ').map((word) => words[word] ?? word);
  const { code, stdout, stderr } = await runInProcess(args, environmentOf(platform));
  expect({ command, code, stderr: code === 0 ? '' : stderr }).toEqual({ command, code: 0, stderr: '' });
  return stdout;
}

test('the experiment of the guide runs by the commands of the guide, at a size of seconds', async () => {
  const declared = experimentOf((await readYaml(blockOf('yaml'))).declared).declared;
  const stages = declared.stages as Record<string, object>; // the declaration was checked
  const small = {
    ...declared,
    seeds: 1,
    stages: {
      ...stages,
      search: { ...stages.search, tasks: 2, iterations: 2, candidates: 2, maxDepth: 6, maxSteps: 6 },
      evaluate: { ...stages.evaluate, tasks: 2, maxSteps: 5 },
    },
  };
  const file = join(folder, 'small.yaml');
  await writeFile(file, JSON.stringify(small));
  const words = { FILE: file };
  const ran = await printed('experiment run FILE --parallel 4', words);
  expect(ran).toMatch(/completed: \d+ stages run, \d+ reused/);
  const said = await printed('experiment run FILE', words);
  const [, id = ''] = /experiment ([0-9a-f-]{36}) completed: 0 stages run/.exec(said) ?? [];
  const named = { ID: id };
  expect(await printed('experiment run --resume ID', named)).toContain(`experiment ${id} completed: 0 stages run`);
  expect(await printed('experiment rerun ID --set revise.alpha=0.7', named)).toContain('agent-r (before)');
  expect(await printed('sweep FILE --over train.epochs=1,3 --over seed=1..3', { FILE: file, 'seed=1..3': 'seed=1' })).toContain(
    'train.epochs=3',
  );
  expect(await printed('experiment status ID', named)).toContain('10 of 10 stages completed');
  expect(await printed('experiment show ID', named)).toMatch(/^arm +seeds +success %/m);
  expect(await printed('experiment list', {})).toContain(id);
});

test('the question of the guide is one that the schema answers', async () => {
  expect(validate(await createExecutableSchema(), parse(blockOf('graphql')))).toEqual([]);
});

async function readYaml(text: string) {
  const file = join(folder, 'guide.yaml');
  await writeFile(file, text);
  return readExperimentFile(file);
}
