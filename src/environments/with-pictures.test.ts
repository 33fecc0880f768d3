import { expect, test } from '@jest/globals';
import { testPictures } from '../testing/painted-world.ts';
import type { Environment, EnvironmentKind, Opening, StepResult } from './environment.ts';
import { picturesOf, withPictures } from './with-pictures.ts';
import { rebuildEnvironment, withRestart } from './with-restart.ts';

const { dot, red } = await testPictures();
const nothing = { admissibleActions: null, stateHash: null };
const task = { alias: '1', seed: 0 };

/** Opens with a dot; a step shows what `shown` says. */
function kindOf(shown: () => string, fails: () => boolean = () => false): EnvironmentKind {
  const opening: Opening = {
    instruction: '',
    observation: 'a dot',
    goal: '',
    depth: null,
    split: null,
    ...nothing,
    pictures: [dot.base64],
  };
  const step = async (): Promise<StepResult> => {
    if (fails()) throw Object.assign(new Error('gone'), { name: 'EnvironmentError', code: 'gone', retryable: true });
    return {
      observation: 'then',
      reward: { value: 0, raw: 0, scale: 1, kind: 'final' as const },
      success: null,
      terminated: false,
      truncated: false,
      executable: true,
      ...nothing,
      pictures: [Buffer.from(shown(), 'base64')],
    };
  };
  const create = async (): Promise<Environment> => ({
    reset: async () => opening,
    step,
    replay: async (_task, actions) => ({ opening, steps: await Promise.all(actions.map(step)) }),
    parse: (action) => ({ thought: '', action, wellFormatted: true }),
    clone: create,
    close: async () => undefined,
  });
  return { name: 'painted', fingerprint: '1', taskAliases: ['1'], create, close: async () => undefined };
}
const idsOf = (seen: Opening | StepResult | undefined) => (seen ? picturesOf(seen).map(({ imageId }) => imageId) : null);

test('pictures are read where a task opens, a step is taken, both are repeated, and an episode is copied', async () => {
  const environment = await withPictures(kindOf(() => red.base64)).create();
  expect(idsOf(await environment.reset(task))).toEqual([dot.id]);
  expect(idsOf(await environment.step('look'))).toEqual([red.id]);
  const replayed = await environment.replay?.(task, ['look', 'look']);
  expect([idsOf(replayed?.opening), replayed?.steps.map(idsOf)]).toEqual([[dot.id], [[red.id], [red.id]]]);
  expect(idsOf(await (await environment.clone?.())?.step('look'))).toEqual([red.id]);
});

test('an episode that is brought to its place again is compared picture by picture', async () => {
  const kind = withPictures(kindOf(() => red.base64));
  const steps = (imageId: string) => [{ action: 'look', observation: 'then', pictures: [{ imageId }] }];
  const path = { task, firstObservation: 'a dot', firstPictures: [{ imageId: dot.id }] };
  expect(await rebuildEnvironment(kind, { ...path, steps: steps(red.id) })).toMatchObject({ kind: 'rebuilt' });
  expect(await rebuildEnvironment(kind, { ...path, steps: steps(dot.id) })).toMatchObject({
    kind: 'diverged',
    at: 1,
    recorded: `then\n[picture ${dot.id}]`,
    replayed: `then\n[picture ${red.id}]`,
  });
});

test('a lost episode that shows another picture when it is played again is another world', async () => {
  let [taken, shown] = [0, red.base64];
  const environment = await withRestart(
    kindOf(
      () => shown,
      () => taken++ === 1, // the second step is lost
    ),
  ).create();
  await environment.reset(task);
  await environment.step('look');
  shown = dot.base64;
  await expect(environment.step('look')).rejects.toThrow('answers step 1 otherwise');
});
