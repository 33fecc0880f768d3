import { expect, test } from '@jest/globals';
import { createMetrics } from '../runtime/metrics.ts';
import { boundGuesses } from './bound-guesses.ts';

function given(perMinute: number) {
  const clock = { now: 0 };
  const metrics = createMetrics();
  const counter = metrics.counter('http_wrong_keys_total', 'Wrong keys', ['outcome']);
  const guesses = boundGuesses(perMinute, counter, () => clock.now);
  const show = (presented: string, address: string, found: 'good' | 'wrong') => {
    const refused = guesses.take(presented, address);
    if (!refused) guesses.note(presented, address, found);
    return refused;
  };
  return { clock, metrics, guesses, show };
}

test('beyond its wrong keys of a minute an address is answered 429 with the time to wait, and its keys are not looked up', async () => {
  const { clock, metrics, show } = given(3);
  for (const key of ['a', 'b', 'c']) expect(show(key, '192.0.2.1', 'wrong')).toBeUndefined();
  const refused = show('d', '192.0.2.1', 'wrong');
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '20' } });
  expect(JSON.stringify(refused)).toContain('3 wrong API keys came from this address within a minute');
  expect(show('e', '192.0.2.2', 'wrong')).toBeUndefined();
  clock.now = 19_000;
  expect(show('f', '192.0.2.1', 'wrong')).toMatchObject({ headers: { 'retry-after': '1' } });
  clock.now = 20_000;
  expect(show('g', '192.0.2.1', 'wrong')).toBeUndefined();
  expect((await metrics.expose()).body).toMatch(
    /wrong_keys_total\{outcome="wrong"\} 5\n.*wrong_keys_total\{outcome="not-looked-up"\} 2\n/s,
  );
});

test('a key that was good before goes on however many wrong ones come from its address, until it is wrong itself', () => {
  const { show } = given(2);
  expect(show('honest', '192.0.2.1', 'good')).toBeUndefined();
  for (let i = 0; i < 10; i++) show(`guess ${i}`, '192.0.2.1', 'wrong');
  expect(show('another', '192.0.2.1', 'good')?.status).toBe(429);
  for (let i = 0; i < 10; i++) expect(show('honest', '192.0.2.1', 'good')).toBeUndefined();
  expect(show('honest', '192.0.2.1', 'wrong')).toBeUndefined(); // revoked: looked up once more
  expect(show('honest', '192.0.2.1', 'wrong')?.status).toBe(429);
});

test('good keys use up no tries', () => {
  const { show } = given(2);
  for (let i = 0; i < 10; i++) expect(show(`key ${i}`, '192.0.2.1', 'good')).toBeUndefined();
});

test('keys that are shown side by side are counted before any of them is looked up', () => {
  const { guesses } = given(2);
  expect(['a', 'b', 'c'].map((key) => guesses.take(key, '192.0.2.1')?.status)).toEqual([undefined, undefined, 429]);
});
