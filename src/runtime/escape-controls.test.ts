import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { escapeControls } from './escape-controls.ts';

test('characters that a terminal acts on are written as escapes, and others stay', () => {
  expect(escapeControls('a\x1b[2Jb\rc\x9b31m\u202etxt.exe')).toBe('a\\u001b[2Jb\\u000dc\\u009b31m\\u202etxt.exe');
  expect(escapeControls('größer 日本語 😀 ─│')).toBe('größer 日本語 😀 ─│');
  expect(escapeControls('one\ntwo\tthree', '\n')).toBe('one\ntwo\\u0009three');
});

test('an escaped JSON text has the value of the unescaped one', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(JSON.parse(escapeControls(JSON.stringify({ text })))).toEqual({ text });
    }),
  );
});
