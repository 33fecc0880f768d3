import { afterEach, describe, expect, test } from '@jest/globals';
import { retryAfterMs } from '../../runtime/retry-after.ts';
import { anActRequest } from '../../testing/act-request.ts';
import { closeOpenAiServers, givenOpenAiPolicy } from '../../testing/given-openai-policy.ts';
import { backoffMs } from './post-json.ts';

const never = new AbortController().signal;
afterEach(closeOpenAiServers);

describe('failing model servers', () => {
  test.each([408, 409, 429, 500, 502, 503])('status %i is retried with growing waits', async (status) => {
    const { server, policy, waits } = await givenOpenAiPolicy();
    server.fail({ kind: 'status', status }, { kind: 'status', status });
    const [act] = await policy.act(anActRequest(), never);
    expect(act?.call?.attempts).toBe(3);
    expect(waits).toEqual([250, 500]);
    expect(new Set(server.requests.map((request) => request.text)).size).toBe(1);
  });

  test('a reset connection is retried, before the answer or within it', async () => {
    const { server, policy } = await givenOpenAiPolicy();
    server.fail({ kind: 'reset', when: 'before-headers' }, { kind: 'reset', when: 'within-body' });
    expect((await policy.act(anActRequest(), never))[0]?.call?.attempts).toBe(3);
  });

  test('Retry-After is a lower bound of the wait, in seconds, as a date, or in milliseconds', async () => {
    const { server, policy, waits } = await givenOpenAiPolicy();
    server.fail(
      { kind: 'status', status: 429, headers: { 'retry-after': '7' } },
      { kind: 'status', status: 429, headers: { 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' } },
      { kind: 'status', status: 429, headers: { 'retry-after-ms': '1500.5' } },
      { kind: 'status', status: 429, headers: { 'retry-after': '0' } },
    );
    await policy.act(anActRequest(), never);
    expect(waits).toEqual([7_000, 9_000, 1_500.5, 2_000]);
  });

  test('a pause longer than two minutes is not waited for', async () => {
    const { server, policy, waits } = await givenOpenAiPolicy();
    server.fail({ kind: 'status', status: 429, headers: { 'retry-after': '3600' } });
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'unreachable',
      retryable: true,
      message: expect.stringContaining('asks to wait 3600 s'),
    });
    expect(waits).toEqual([]);
  });

  test('a request fails after its last attempt and reports what that one met', async () => {
    const { server, policy, waits } = await givenOpenAiPolicy({}, { attempts: 3 });
    server.fail(...Array.from({ length: 3 }, () => ({ kind: 'status', status: 503, body: '{"message":"loading"}' }) as const));
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'unreachable',
      retryable: true,
      message: expect.stringContaining('3 of 3 attempts (status 503: loading)'),
    });
    expect(server.requests).toHaveLength(3);
    expect(waits).toHaveLength(2);
  });

  test('a missing server is named with the reason', async () => {
    const { policy } = await givenOpenAiPolicy({}, { attempts: 2 });
    await closeOpenAiServers();
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('a silent server is given up after the time limit, and retried', async () => {
    const { server, policy } = await givenOpenAiPolicy({}, { timeoutMs: 50 });
    server.fail({ kind: 'silent' });
    expect((await policy.act(anActRequest(), never))[0]?.call?.attempts).toBeGreaterThan(1); // more where 50 ms are short
  });

  test('an abort ends a request in flight with its own reason, and nothing is sent after it', async () => {
    const { server, policy } = await givenOpenAiPolicy();
    server.fail({ kind: 'silent' });
    const stop = new AbortController();
    const asked = policy.act(anActRequest(), stop.signal);
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error('run cancelled'));
    await expect(asked).rejects.toThrow('run cancelled');
    expect(server.requests).toHaveLength(1);
    await expect(policy.act(anActRequest(), stop.signal)).rejects.toThrow('run cancelled');
    expect(server.requests).toHaveLength(1);
  });

  test.each([
    [{ apiKey: 'sk-other' }, {}, 'status 401: Incorrect API key provided.; check the API key'],
    [{}, { model: 'lama' }, 'status 404: The model `lama` does not exist.; check the model'],
    [{}, { stop: ['a'], sampling: { topP: 7 } }, 'status 400'],
  ])('a final refusal is not retried and keeps the words of the server (%j)', async (server, options, message) => {
    const { policy, waits, server: started } = await givenOpenAiPolicy({ model: 'qwen', ...server }, options);
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'refused',
      retryable: false,
      message: expect.stringContaining(message),
    });
    expect(started.requests).toHaveLength(1);
    expect(waits).toEqual([]);
  });

  test('no message contains the key', async () => {
    const { policy } = await givenOpenAiPolicy({ apiKey: 'sk-right' }, { apiKey: 'sk-wrong' });
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({ message: expect.not.stringContaining('sk-wrong') });
  });

  test.each([
    ['no JSON', '<html>busy</html>', 'not JSON: "<html>busy</html>"'],
    ['no choices', '{"choices":[]}', 'no chat completion: choices'],
    ['an odd shape', '{"choices":[{"message":"hi"}]}', 'no chat completion: choices.0.message'],
    ['an error under status 200', '{"error":{"message":"engine dead"}}', 'an error inside: engine dead'],
  ])('a body with %s is a protocol error', async (_, body, message) => {
    const { server, policy } = await givenOpenAiPolicy();
    server.fail({ kind: 'body', body });
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'protocol',
      message: expect.stringContaining(message),
    });
    expect(server.requests).toHaveLength(1);
  });

  test('an answer above the size limit is refused', async () => {
    const { server, policy } = await givenOpenAiPolicy({}, { maxResponseBytes: 1_000 });
    server.fail({ kind: 'body', body: `{"id":"${'x'.repeat(2_000)}"}` });
    await expect(policy.act(anActRequest(), never)).rejects.toMatchObject({
      code: 'protocol',
      message: expect.stringContaining('1000 bytes'),
    });
  });
});
describe('back-off', () => {
  test('the wait doubles from half a second to half a minute, and jitter removes at most half', () => {
    expect([1, 2, 3, 6, 7, 20].map((attempt) => backoffMs(attempt, 0))).toEqual([250, 500, 1_000, 8_000, 15_000, 15_000]);
    expect([1, 7].map((attempt) => backoffMs(attempt, 1 - 2 ** -53))).toEqual([500, 30_000]);
  });

  test('a Retry-After in the past or without a time is not waited for', () => {
    const read = (value: string) => retryAfterMs((name) => new Headers({ 'retry-after': value }).get(name), Date.UTC(2026, 0, 1));
    expect([read('Wed, 31 Dec 2025 00:00:00 GMT'), read('soon'), read('1.5')]).toEqual([0, null, 1_500]);
    expect(retryAfterMs(() => null, 0)).toBeNull();
  });
});
