import { describe, expect, test } from '@jest/globals';
import { isLoopback } from '../runtime/is-loopback.ts';
import { refuseForeignPage } from './loopback.ts';

describe('isLoopback', () => {
  test.each(['127.0.0.1', '127.8.9.1', 'localhost', 'LOCALHOST', '::1', '[::1]'])('%s names this machine only', (host) =>
    expect(isLoopback(host)).toBe(true),
  );
  test.each(['0.0.0.0', '::', '10.0.0.1', '127.0.0.1.evil.example', 'localhost.evil.example', '', '128.0.0.1', '127.1'])(
    '%s can be reached from other machines',
    (host) => expect(isLoopback(host)).toBe(false),
  );
});

describe('refuseForeignPage', () => {
  const host = '127.0.0.1:4000';
  const LINK = {
    accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  };
  test.each([
    ['a program', 'POST', { host }],
    ['a page of this server', 'POST', { host, origin: 'http://127.0.0.1:4000', 'sec-fetch-site': 'same-origin' }],
    ['a person who types the address', 'GET', { host, 'sec-fetch-site': 'none' }],
    ['a person who follows a link', 'GET', { host, ...LINK }],
  ])('a request from %s is allowed', (_name, method, headers) => expect(refuseForeignPage(method, headers)).toBeUndefined());

  test.each([
    ['a post from another site', 'POST', { host, origin: 'https://evil.example' }, 403],
    ['a read from another site', 'GET', { host, origin: 'https://evil.example' }, 403],
    ['a preflight from another site', 'OPTIONS', { host, origin: 'https://evil.example' }, 403],
    ['a sandboxed page', 'POST', { host, origin: 'null' }, 403],
    ['a page on another port', 'POST', { host, origin: 'http://127.0.0.1:5173' }, 403],
    ['an image of a page of another site', 'GET', { host, ...LINK, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }, 403],
    ['a frame of a page of another site', 'GET', { host, ...LINK, 'sec-fetch-dest': 'iframe' }, 403],
    ['a script of a page of another port', 'GET', { host, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }, 403],
    ['a link that asks for data', 'GET', { host, ...LINK, accept: 'application/json' }, 403],
    ['a form of another site that is filled into a window', 'POST', { host, ...LINK }, 403],
    ['a form of another site without Origin', 'POST', { host, 'sec-fetch-site': 'cross-site' }, 403],
  ])('a request with %s is refused', (_name, method, headers, status) =>
    expect(refuseForeignPage(method, headers)?.status).toBe(status),
  );
});
