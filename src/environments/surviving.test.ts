import { describe, expect, test } from '@jest/globals';
import { rebuildEnvironment } from './surviving.ts';
import { openTextCraft } from './textcraft/textcraft.ts';

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
