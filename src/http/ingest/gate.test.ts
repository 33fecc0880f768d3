import { expect, test } from '@jest/globals';
import { createGate } from './gate.ts';

test('one request too many is not let in until another leaves', () => {
  const gate = createGate({ requests: 2, bytes: 10 });
  const first = gate.enter();
  gate.enter();
  expect(gate.enter()).toBeUndefined();
  first?.leave();
  first?.leave(); // leaving twice frees one place
  expect(gate.enter()).toBeDefined();
  expect(gate.enter()).toBeUndefined();
});

test('bytes of all requests count together and come back when a request leaves', () => {
  const gate = createGate({ requests: 9, bytes: 10 });
  const [a, b] = [gate.enter(), gate.enter()];
  expect(a?.take(6)).toBe(true);
  expect(b?.take(5)).toBe(false);
  expect(b?.take(4)).toBe(true);
  a?.leave();
  expect(b?.take(6)).toBe(true);
  expect(b?.take(1)).toBe(false);
});
