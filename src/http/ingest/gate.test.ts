import { expect, test } from '@jest/globals';
import { createGate } from './gate.ts';

test('a request beyond the limit is let in when another one has left', () => {
  const gate = createGate(2);
  const first = gate();
  gate();
  expect(gate()).toBeUndefined();
  first?.();
  first?.(); // leaving twice frees one place
  expect(gate()).toBeDefined();
  expect(gate()).toBeUndefined();
});
