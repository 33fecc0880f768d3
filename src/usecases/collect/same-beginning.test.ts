import { expect, test } from '@jest/globals';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { worldDifference } from './refuse-unfit.ts';

test('a refusal to go on in another world names what makes a restarted server another one, where that is known', () => {
  const began = {
    runId: 'r',
    environments: [{ environment: 'textcraft', fingerprint: 'one' }],
    policy: null,
  };
  // what the comparison reads of an environment
  const kind = { name: 'textcraft', fingerprint: 'two' } as EnvironmentKind;
  const changed = 'its recipes, tasks, tools, corpus or server were changed';
  expect(worldDifference(began, 'agentgym:textcraft', kind)).toMatch(new RegExp(`${changed}$`));
  expect(
    worldDifference(began, 'agentgym:textcraft', { ...kind, restartCause: 'start it with the PYTHONHASHSEED that it had' }),
  ).toMatch(new RegExp(`${changed} \\(start it with the PYTHONHASHSEED that it had\\)$`));
});
