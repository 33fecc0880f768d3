import { expect, test } from '@jest/globals';
import { createGate } from './gate.ts';

test('a request beyond the limit waits until another one leaves', () => {
  const gate = createGate(2);
  const first = gate.enter();
  gate.enter();
  expect(gate.enter()).toBeUndefined();
  first?.leave();
  first?.leave(); // leaving twice frees one place
  expect(gate.enter()).toBeDefined();
  expect(gate.enter()).toBeUndefined();
});
