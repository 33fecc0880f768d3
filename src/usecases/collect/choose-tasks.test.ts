import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { openEnvironment } from '../../environments/open-environment.ts';
import { chooseTasks, namedTasks } from './choose-tasks.ts';

test('tasks are drawn without opening one where the environment lists depth and split', async () => {
  const kind = await openEnvironment('textcraft');
  const all = await chooseTasks(kind, kind.taskAliases.length, 0);
  const depths = new Map(all.map(({ alias, depth }) => [alias, depth]));
  const listed = {
    ...kind,
    tasks: kind.taskAliases.map((alias) => ({ depth: depths.get(alias) ?? null, split: 'train' })),
    create: () => Promise.reject(new Error('a task was opened')),
  };
  expect(await chooseTasks(listed, 12, 0)).toEqual(await chooseTasks(kind, 12, 0));
  expect(await chooseTasks(listed, 12, 0, 'test')).toEqual([]);
  await kind.close();
});

test('an environment that lists its tasks without splits is opened for them where a split is asked for, and not else', async () => {
  const echo = await openEnvironment('echo:abc');
  const answered = (alias: string) => (alias === 'b' ? 'test' : 'train');
  const kind: EnvironmentKind = {
    ...echo,
    tasks: echo.taskAliases.map(() => ({ depth: null, split: null })),
    create: async () => {
      const environment = await echo.create();
      return { ...environment, reset: async (task) => ({ ...(await environment.reset(task)), split: answered(task.alias) }) };
    },
  };
  expect(await chooseTasks(kind, 3, 0, 'train')).toEqual([
    { alias: 'a', depth: expect.anything() },
    { alias: 'c', depth: expect.anything() },
  ]);
  const unopened = { ...kind, create: () => Promise.reject(new Error('a task was opened')) };
  expect((await chooseTasks(unopened, 3, 0)).map(({ alias }) => alias)).toEqual(['a', 'b', 'c']);
  await echo.close();
});

test('a named task that there is not is refused with those that there are', async () => {
  const kind = await openEnvironment('echo:ab');
  expect(namedTasks(kind, ['b'])).toEqual([{ alias: 'b' }]);
  expect(() => namedTasks(kind, ['b', 'c'])).toThrow('echo has no task "c"; it has 2, a to b');
  await kind.close();
});

test('what was learned by opening every task is kept: the same environment is not opened again, another world or seed is', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'espalier-surveys-'));
  const opened: string[] = [];
  const echo = await openEnvironment('echo:abc');
  const kind: EnvironmentKind = {
    name: 'counted',
    fingerprint: 'one',
    taskAliases: echo.taskAliases,
    close: () => echo.close(),
    async create() {
      const environment = await echo.create();
      return {
        step: environment.step,
        parse: environment.parse,
        close: environment.close,
        async reset({ alias, seed }) {
          opened.push(`${alias} ${seed}`);
          return { ...(await environment.reset({ alias, seed })), depth: alias === 'a' ? 1 : 2, split: 'train' };
        },
      };
    },
  };
  try {
    const tasks = await chooseTasks(kind, 2, 0, 'train', folder);
    expect(tasks).toEqual([
      { alias: 'a', depth: 1 },
      { alias: 'b', depth: 2 },
    ]);
    expect(opened.splice(0)).toEqual(['a 0', 'b 0', 'c 0']);
    expect(await chooseTasks(kind, 2, 0, 'train', folder)).toEqual(tasks);
    expect(await chooseTasks(kind, 3, 0, 'test', folder)).toEqual([]);
    expect(opened).toEqual([]);
    await chooseTasks(kind, 1, 7, null, folder);
    await chooseTasks({ ...kind, fingerprint: 'two' }, 1, 0, null, folder);
    expect(opened.splice(0)).toEqual(['a 7', 'b 7', 'c 7', 'a 0', 'b 0', 'c 0']);
    for (const file of await readdir(folder)) await writeFile(join(folder, file), '[{"depth":'); // damaged
    expect(await chooseTasks(kind, 2, 0, 'train', folder)).toEqual(tasks);
    expect(opened).toHaveLength(3);
  } finally {
    await echo.close();
    await rm(folder, { recursive: true });
  }
});
