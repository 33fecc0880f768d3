import { expect, test } from '@jest/globals';
import { overlay } from './overlay.ts';

test('an overlay leaves the object as it is, and methods that it does not name see private fields', () => {
  class Counter {
    #count = 0;
    readonly name = 'counter';
    add(): number {
      return ++this.#count;
    }
    label(): string {
      return 'own';
    }
  }
  const own = new Counter();
  const over = overlay(own, { label: () => 'over' });
  expect([over.add(), over.add(), over.name, over.label(), own.label(), 'label' in over, 'absent' in over]).toEqual([
    ...[1, 2, 'counter', 'over', 'own', true, false],
  ]);
});
