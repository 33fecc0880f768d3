import { expect, test } from '@jest/globals';
import { createGate } from './gate.ts';

test('one request too many is not let in until another leaves', () => {
  const gate = createGate(2);
  const first = gate.enter();
  gate.enter();
  expect(gate.enter()).toBeUndefined();
  first?.leave();
  first?.leave(); // leaving twice frees one place
  expect(gate.enter()).toBeDefined();
  expect(gate.enter()).toBeUndefined();
});
