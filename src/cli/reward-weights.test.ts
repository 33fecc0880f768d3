import { expect, test } from '@jest/globals';
import { rewardWeights } from './train-plan-of.ts';

test('components and weights are read as written', () => {
  expect(rewardWeights('environment=1, answer-f1=-0.1')).toEqual({ environment: 1, 'answer-f1': -0.1 });
});

test.each([
  ['environment', /--rewards environment takes a number/],
  ['environment=', /--rewards environment takes a number/],
  ['environment=much', /--rewards environment takes a number from -1000000 to 1000000, not "much"/],
  ['=1', /takes component=weight, each component once, as environment=1,answer-f1=0.1, not "=1"/],
  ['environment=1=2', /not "environment=1=2"/],
  ['environment=1,environment=2', /not "environment=2"/],
  ['environment=1,', /not ""/],
])('%s is refused and the wrong part is named', (text, message) => {
  expect(() => rewardWeights(text)).toThrow(message);
});
