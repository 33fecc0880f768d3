import { describe, test } from '@jest/globals';
import { EVERY_COMPUTATION, expectTrained, rowsOf, train } from './every-computation-testing.ts';
import { linearBackend } from './linear/linear-backend.ts';

describe('every computation that a declaration can name, by the linear backend', () => {
  const backend = linearBackend();
  const rows = rowsOf((chosen) => ({ ids: [chosen], logProbs: [-1.2] }));

  test.each(EVERY_COMPUTATION)('%s makes a version', async (_, settings) => {
    const first = await backend.initial(1);
    expectTrained(settings, first, await train(backend, first, rows, settings));
  });
});
