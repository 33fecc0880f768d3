import { expect, test } from '@jest/globals';
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

test('a named task that there is not is refused with those that there are', async () => {
  const kind = await openEnvironment('echo:ab');
  expect(namedTasks(kind, ['b'])).toEqual([{ alias: 'b' }]);
  expect(() => namedTasks(kind, ['b', 'c'])).toThrow('echo has no task "c"; it has 2, a to b');
  await kind.close();
});
