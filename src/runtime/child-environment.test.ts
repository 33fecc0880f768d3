import { expect, test } from '@jest/globals';
import { childEnvironment } from './config.ts';

const OWN = {
  PATH: '/bin',
  HOME: '/home/me',
  LC_ALL: 'C',
  CUDA_VISIBLE_DEVICES: '0',
  TOKENIZERS_PARALLELISM: 'false',
  PYTHONPATH: '/x',
  OPENAI_API_KEY: 'sk',
  DATABASE_URL: 'postgres://u:p@h/d',
  HF_TOKEN: 'hf',
  AWS_SECRET_ACCESS_KEY: 'aws',
  MINE: 'mine',
};

test('a started program receives what finds programs and devices, and no secret', () => {
  expect(childEnvironment({ ESPALIER_OUT: '/out' }, OWN)).toEqual({
    PATH: '/bin',
    HOME: '/home/me',
    LC_ALL: 'C',
    CUDA_VISIBLE_DEVICES: '0',
    TOKENIZERS_PARALLELISM: 'false',
    PYTHONPATH: '/x',
    ESPALIER_OUT: '/out',
  });
});

test('a started program receives the variables that the operator names', () => {
  const given = childEnvironment({}, { ...OWN, ESPALIER_CHILD_ENV: 'HF_TOKEN, MINE,ABSENT' });
  expect([given.HF_TOKEN, given.MINE, given.OPENAI_API_KEY, 'ABSENT' in given]).toEqual(['hf', 'mine', undefined, false]);
});

test('a list of names that holds a value is refused', () => {
  expect(() => childEnvironment({}, { ESPALIER_CHILD_ENV: 'HF_TOKEN=hf_123' })).toThrow(/^ESPALIER_CHILD_ENV (?!.*hf_123)/);
});
