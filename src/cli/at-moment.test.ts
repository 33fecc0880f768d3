import { describe, expect, test } from '@jest/globals';
import { parseMoment } from './at-moment.ts';

describe('--as-of', () => {
  test.each([
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2026-11-21T20:00Z', '2026-11-21T20:00:00.000Z'],
    ['2026-11-21T20:00:00.5+02:00', '2026-11-21T18:00:00.500Z'],
  ])('--as-of accepts the time %s', (text, time) => {
    expect(parseMoment(text)).toEqual({ kind: 'time', time: new Date(time) });
  });

  test('--as-of accepts a position', () => {
    const position = new Map([
      ['runs', new Map([[0, 3]])],
      ['trees', new Map([[2, 41]])],
    ]);
    expect(parseMoment('runs.0:3,trees.2:41')).toEqual({ kind: 'position', position });
    expect(parseMoment('runs.0:0')).toEqual({ kind: 'position', position: new Map([['runs', new Map([[0, 0]])]]) });
  });

  test.each(['', ' '])('--as-of refuses %j, the value of an unset variable', (text) => {
    expect(() => parseMoment(text)).toThrow('--as-of is empty (a variable that is not set?)');
  });

  test.each(['2026-02-30', '2026-02-29', '2026-13-01', '2026-00-10', '2026-04-31T10:00Z', '2026-01-00'])(
    '--as-of refuses %s, which is not a day',
    (text) => {
      expect(() => parseMoment(text)).toThrow(`--as-of takes a day of the calendar, which ${text.slice(0, 10)} is not`);
    },
  );

  test.each(['2024-02-29', '2026-12-31', '0026-02-28'])('--as-of accepts the day %s', (text) => {
    expect(parseMoment(text)).toEqual({ kind: 'time', time: new Date(text) });
  });

  // A time without a zone is another moment on another machine.
  test.each(['yesterday', '2026-11-21T20:00:00', '21.11.2026', 'runs:3'])(
    '--as-of refuses %j and lists the accepted forms',
    (text) => {
      expect(() => parseMoment(text)).toThrow(
        `--as-of takes a position or a time such as 2026-11-21T20:00:00Z: ${JSON.stringify(text)} is not topic.partition:offset`,
      );
    },
  );
});
