import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { snapAction } from './snap-action.ts';

interface Vectors {
  readonly validActions: readonly string[];
  readonly cases: readonly { readonly prediction: string; readonly recent: readonly string[]; readonly chosen: string }[];
}
// The file is a copy of the published vectors, of this shape.
const vectors = JSON.parse(readFileSync(new URL('./fixtures/13_sciworld_action_match.json', import.meta.url), 'utf8')) as Vectors;
const room = { validActions: vectors.validActions, look: 'You see a thermometer.', inventory: 'In your inventory: a CUP' };

describe('snapAction', () => {
  test.each(vectors.cases)(
    'the choice of $prediction equals that of the published code where no tie decides',
    ({ prediction, recent, chosen }) => {
      expect(snapAction(prediction, room, recent)).toBe(chosen);
    },
  );

  test('the first by code point wins among candidates with as many common words and equal length, however they are listed', () => {
    const validActions = ['pour cup', 'fill cup', 'move cup'];
    expect(snapAction('empty cup', { ...room, validActions })).toBe('fill cup');
    expect(snapAction('empty cup', { ...room, validActions: validActions.toReversed() })).toBe('fill cup');
  });

  test('a focus is only offered on visible or carried objects, never on a room', () => {
    const validActions = ['focus on cup', 'focus on unicorn', 'focus on kitchen'];
    expect(snapAction('focus on cup', { ...room, validActions })).toBe('focus on cup');
    expect(snapAction('focus on unicorn', { ...room, validActions })).toBe('focus on cup');
    expect(snapAction('focus on kitchen', { ...room, validActions, look: 'the kitchen' })).toBe('focus on cup');
  });

  test('the order and repetition of the valid actions do not matter', () => {
    const words = fc.constantFrom('open', 'gate', 'to', 'kitchen', 'cup', 'move', 'focus', 'on', 'jar');
    const action = fc.array(words, { minLength: 1, maxLength: 4 }).map((list) => list.join(' '));
    fc.assert(
      fc.property(fc.array(action), action, fc.integer(), (validActions, prediction, turn) => {
        const at = validActions.length === 0 ? 0 : Math.abs(turn) % validActions.length;
        const turned = [...validActions.slice(at), ...validActions, ...validActions.slice(0, at)];
        expect(snapAction(prediction, { ...room, validActions: turned })).toBe(snapAction(prediction, { ...room, validActions }));
      }),
    );
  });
});
