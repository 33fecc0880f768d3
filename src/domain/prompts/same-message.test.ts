import { expect, test } from '@jest/globals';
import { argumentsKey } from './same-message.ts';

test.each([
  ['{"b": [1.0, 2e2], "a": "1e400"}', '{"a":"1e400","b":[1,200]}'],
  ['', '{}'],
  ['{"id": 12345678901234567890}', '{"id":1.234567890123456789e19}'],
  ['{"id": -1e400}', '{"id":-10e399}'],
  ['not json', ' not json'],
])('%s and %s are the same arguments', (one, other) => {
  expect(argumentsKey(one)).toBe(argumentsKey(other));
});

test.each([
  ['{"id": 9007199254740993}', '{"id": 9007199254740992}'],
  ['{"id": 12345678901234567890}', '{"id": 12345678901234567891}'],
  ['{"id": 12345678901234567890}', '{"id": "12345678901234567890"}'],
  ['{"id": 1e400}', '{"id": 1e500}'],
  ['{"id": 1e400}', '{"id": null}'],
  ['{"q": "9007199254740993"}', '{"q": "9007199254740992"}'],
])('%s and %s are other arguments', (one, other) => {
  expect(argumentsKey(one)).not.toBe(argumentsKey(other));
});
