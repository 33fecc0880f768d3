import { expect, test } from '@jest/globals';
import { findMismatch } from '../domain/training/correction/mismatch.ts';
import { updateLines } from './train.ts';

test('a version whose sampler was beyond the bound is followed by a warning with the measured k3', () => {
  const trained = { version: 2, meanReturn: 0.5, samples: 8, ms: 1_200 };
  const line = 'version 2 of 4: 8 samples, mean return 0.500, 1200 ms; 16 rollouts so far';
  expect(updateLines({ ...trained, warning: null }, { updates: 4 }, 16)).toEqual([line]);
  const warning = findMismatch({ samplerK3: 0.1, samplerMaxRatio: 3 }, { warn: 0.05, stop: 0.5 })?.reason ?? '';
  expect(updateLines({ ...trained, warning }, { updates: 4 }, 16)).toEqual([
    line,
    expect.stringMatching(/^version 2: .* mean k3 of 0\.100, more than 0\.05 \(largest ratio of a token 3\.00\)/),
  ]);
});
