import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import { localPrincipal, type Principal } from '../postgres/principal.ts';
import { keyQuotas } from './key-quotas.ts';

function keyOf(requestsPerMinute: number | null, bytesPerMinute: number | null): Principal {
  const quota = { requestsPerMinute, bytesPerMinute };
  return { ...localPrincipal(), principal: 'key:k', keyId: 'k', name: 'writer', quota };
}

/** A response whose connection has read so many bytes when the request ends. */
function response(bytes = 0) {
  const res = Object.assign(new EventEmitter(), { socket: { bytesRead: 0 } });
  const end = () => {
    res.socket.bytesRead = bytes;
    res.emit('close');
  };
  return { res: res as unknown as ServerResponse, end };
}

test('a key is refused beyond its requests of a minute, and served again as they come back', () => {
  let now = 0;
  const quotas = keyQuotas(() => now);
  const ask = () => quotas(keyOf(3, null), response().res);
  expect([ask(), ask(), ask()]).toEqual([undefined, undefined, undefined]);
  const refused = ask();
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '20' } });
  expect(JSON.stringify(refused)).toContain('has used its quota of 3 requests a minute');
  now = 19_000;
  expect(ask()?.status).toBe(429);
  now = 20_000;
  expect(ask()).toBeUndefined();
});

test('bytes are charged when a request ends, and the next one waits for those beyond the quota', () => {
  let now = 0;
  const quotas = keyQuotas(() => now);
  const key = keyOf(null, 1_000);
  const large = response(1_500);
  expect(quotas(key, large.res)).toBeUndefined();
  large.end();
  expect(quotas(key, response().res)).toMatchObject({ status: 429, headers: { 'retry-after': '31' } });
  now = 31_000;
  expect(quotas(key, response().res)).toBeUndefined();
});

test('a key without a quota, and who shows none, are never refused', () => {
  const quotas = keyQuotas(() => 0);
  for (let i = 0; i < 100; i++) {
    expect(quotas(keyOf(null, null), response().res)).toBeUndefined();
    expect(quotas(localPrincipal(), response().res)).toBeUndefined();
  }
});
