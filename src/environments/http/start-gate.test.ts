import { describe, expect, test } from '@jest/globals';
import { StartGate, startGateOf } from './start-gate.ts';

/** A request that the test ends, and what began so far. */
function requests(gate: StartGate) {
  const began: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string, mode: 'alone' | 'together') =>
    gate.pass(mode, async () => {
      began.push(name);
      await new Promise<void>((end) => ends.set(name, end));
      return name;
    });
  const end = async (name: string, promise: Promise<string>) => {
    ends.get(name)?.();
    return promise;
  };
  return { began, start, end };
}

describe('StartGate', () => {
  test('an exclusive request waits for those in flight, and later ones wait for it', async () => {
    const { began, start, end } = requests(new StartGate());
    const [a, b] = [start('a', 'together'), start('b', 'together')];
    const c = start('c', 'alone');
    const d = start('d', 'together');
    await Promise.resolve();
    expect(began).toEqual(['a', 'b']);
    expect(await end('a', a)).toBe('a');
    expect(began).toEqual(['a', 'b']);
    await end('b', b);
    await Promise.resolve();
    expect(began).toEqual(['a', 'b', 'c']);
    await end('c', c);
    await Promise.resolve();
    expect(began).toEqual(['a', 'b', 'c', 'd']);
    await end('d', d);
  });

  test('a failed request admits the next one', async () => {
    const gate = new StartGate();
    await expect(gate.pass('alone', () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
    expect(await gate.pass('alone', async () => 'next')).toBe('next');
  });

  test('a process has one gate per server', () => {
    expect(startGateOf(new URL('http://127.0.0.1:1'))).toBe(startGateOf(new URL('http://127.0.0.1:1/')));
    expect(startGateOf(new URL('http://127.0.0.1:1'))).not.toBe(startGateOf(new URL('http://127.0.0.1:2')));
  });
});
