import { expect, test } from '@jest/globals';
import { COMPRESSION_PRESETS } from '../domain/compression/factor-reward.ts';
import type { PromptPlan } from '../usecases/collect/prompting/prompt-plan.ts';
import { compressionNote } from './prompt-flags.ts';

type Compression = NonNullable<PromptPlan['compression']>;

function planOf(overrides: Partial<Compression>): PromptPlan {
  return {
    template: { name: 'search-qa', version: 1 },
    mode: 'image',
    historyLength: 50,
    image: null,
    compression: { candidateFactor: 1.2, reward: 'factor', ...COMPRESSION_PRESETS.paper, iteration: 1, ...overrides },
    invalidPenalty: 0,
  };
}
const WEIGHT = 'training counts the component compression where it has a weight: --rewards environment=1,compression=1';

test('an iteration in which nothing is paid for compression is noted, and so is a training that gives it no weight', () => {
  expect(compressionNote(planOf({}), null)).toBe(
    `note: nothing is paid for compression in iteration 1, since one in 5 is paid (--iteration, --compression-preset); ${WEIGHT}`,
  );
  expect(compressionNote(planOf({ iteration: 5 }), null)).toBe(`note: ${WEIGHT}`);
  expect(compressionNote(planOf({ iteration: 'version' }), { environment: 1 })).toBe(`note: ${WEIGHT}`);
  expect(compressionNote(planOf({ iteration: 'version' }), { environment: 1, compression: 0.5 })).toBeNull();
  expect(compressionNote(planOf({ reward: 'none' }), null)).toBeNull();
  expect(compressionNote(undefined, null)).toBeNull();
});
