import { expect, test } from '@jest/globals';
import { hasOption, mergeOptions, optionAt, setOption } from './change-options.ts';

test('options are put over others field by field, and lists and plain values take their place', () => {
  const under = { alpha: 0.5, prompt: { mode: 'image', compression: { factor: 1, every: 5 } }, tasks: [1, 2] };
  const over = { prompt: { compression: { factor: 2 } }, tasks: [3], beta: 0 };
  expect(mergeOptions(under, over)).toEqual({
    alpha: 0.5,
    beta: 0,
    tasks: [3],
    prompt: { mode: 'image', compression: { factor: 2, every: 5 } },
  });
});

test('another method, kind or mode keeps nothing of the one before', () => {
  const options = { name: 'gae', options: { lambda: 1 } };
  expect(mergeOptions({ estimator: options }, { estimator: { name: 'rloo' } })).toEqual({ estimator: { name: 'rloo' } });
  expect(mergeOptions({ estimator: options }, { estimator: { options: { lambda: 0 } } })).toEqual({
    estimator: { name: 'gae', options: { lambda: 0 } },
  });
  expect(mergeOptions({ prompt: { mode: 'image', profile: 'crisp' } }, { prompt: { mode: 'text' } })).toEqual({
    prompt: { mode: 'text' },
  });
});

test('another stage takes the place of the one that was named', () => {
  expect(mergeOptions({ policy: { of: 'a' } }, { policy: { of: 'b' } })).toEqual({ policy: { of: 'b' } });
});

test('an option is changed at its path, and nothing else', () => {
  const options = { stages: { revise: { alpha: 0.5, beta: 0.2 } }, name: 'x' };
  expect(setOption(options, ['stages', 'revise', 'alpha'], 0.7)).toEqual({
    name: 'x',
    stages: { revise: { alpha: 0.7, beta: 0.2 } },
  });
  expect(options.stages.revise.alpha).toBe(0.5);
  expect(hasOption(options, ['stages', 'revise', 'alpha'])).toBe(true);
  expect(hasOption(options, ['stages', 'revise', 'gamma'])).toBe(false);
  expect(optionAt(options, ['stages', 'revise'])).toBe(options.stages.revise);
  expect(optionAt(options, ['name', 'length'])).toBeUndefined();
});
