import { describe, expect, test } from '@jest/globals';
import { EnvironmentError } from './environment.ts';
import { StartGate } from './http/start-gate.ts';
import { openTextCraft } from './textcraft/textcraft.ts';
import { rebuildEnvironment, withRestart } from './with-restart.ts';

const kind = await openTextCraft();
const task = { alias: '5', seed: 0 };

async function played() {
  const environment = await kind.create();
  const { observation: firstObservation } = await environment.reset(task);
  const steps = [];
  for (const action of ['get 1 nonsense', 'inventory', 'dance']) {
    const { observation } = await environment.step(action);
    steps.push({ action, observation });
  }
  return { task, firstObservation, steps };
}

describe('rebuildEnvironment', () => {
  test('rebuildEnvironment brings a new environment to the state of the old one', async () => {
    const path = await played();
    const rebuilt = await rebuildEnvironment(kind, path);
    expect(rebuilt).toMatchObject({ kind: 'rebuilt', last: { observation: 'Could not execute dance' } });
    expect(await rebuildEnvironment(kind, { ...path, steps: [] })).toMatchObject({ kind: 'rebuilt', last: null });
  });

  test('rebuildEnvironment reports the step at which another world answers differently, and its answer', async () => {
    const path = await played();
    const steps = path.steps.map((step, i) => (i === 1 ? { ...step, observation: 'Inventory: [reed] (1) ' } : step));
    expect(await rebuildEnvironment(kind, { ...path, steps })).toEqual({
      kind: 'diverged',
      at: 2,
      recorded: 'Inventory: [reed] (1) ',
      replayed: 'Inventory: You are not carrying anything.',
    });
    expect(await rebuildEnvironment(kind, { ...path, firstObservation: 'another' })).toMatchObject({ kind: 'diverged', at: 0 });
  });
});

test.each(['step', 'reset'] as const)('an episode that could not be brought back is begun anew by the next %s', async (next) => {
  let failures = 0;
  const fail = () => {
    if (failures-- > 0) throw new EnvironmentError('lost', 'its process has ended');
  };
  const dying = withRestart(
    {
      ...kind,
      create: async () => {
        const inner = await kind.create();
        let isClosed = false;
        const open = () => {
          if (isClosed) throw new EnvironmentError('gone', 'the environment was closed');
          fail();
        };
        return {
          ...inner,
          reset: async (start) => {
            open();
            return inner.reset(start);
          },
          step: async (action) => {
            open();
            return inner.step(action);
          },
          close: async () => {
            isClosed = true;
          },
        };
      },
    },
    new StartGate(),
  );
  const episode = await dying.create();
  await episode.reset(task);
  failures = 2; // of the step, and of the reset that brings it back
  await expect(episode.step('inventory')).rejects.toMatchObject({ code: 'failed' });
  const seen = next === 'step' ? await episode.step('dance') : await episode.reset(task);
  expect(seen.observation).not.toBe('');
});
