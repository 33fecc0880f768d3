import { expect, test } from '@jest/globals';
import { secretInUrl } from './secret-in-url.ts';

test.each([
  ['https://me:word@host/v1', 'a user name or a password'],
  ['https://sk-123@host/v1', 'a user name or a password'],
  ['https://host/v1?api_key=sk-123', 'the parameter api_key'],
  ['https://host/v1?model=x&X-Signature=1&Access-Token=2', 'the parameter Access-Token'],
  ['https://host/v1?tokens=5&keyboard=x', null],
  ['https://host/path@v1?q=a@b', null],
  ['http://127.0.0.1:8000/v1', null],
  ['https://secret:MODEL@host/v1?api_key=secret:OTHER', null],
  ['https://secret:hunter2@host/v1', 'a user name or a password'],
  ['https://host/v1?api_key=secret:model', 'the parameter api_key'],
  ['secret:MODEL', null],
])('the secret part of %s is %s', (url, found) => {
  expect(secretInUrl(url)).toBe(found);
});
