import { expect, test } from '@jest/globals';
import { encodingFor } from './encoding.ts';

test.each([
  [null, 'identity'],
  ['gzip', 'gzip'],
  ['GZIP;q=0.1, deflate', 'gzip'],
  ['gzip;q=0', 'identity'],
  ['gzip;q=0.0, br', 'identity'],
  ['gzip, zstd', 'zstd'],
  ['zstd;q=0, gzip', 'gzip'],
] as const)('a client that accepts %p is sent the encoding %s', (accepted, encoding) => {
  expect(encodingFor(accepted, true)).toBe(encoding);
});

test('zstd is not chosen where this version of Node lacks it', () => {
  expect(encodingFor('zstd, gzip', false)).toBe('gzip');
});
