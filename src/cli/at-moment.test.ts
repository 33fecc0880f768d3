import { describe, expect, test } from '@jest/globals';
import { parseMoment } from './at-moment.ts';

describe('--as-of', () => {
  test.each([
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2026-11-21T20:00Z', '2026-11-21T20:00:00.000Z'],
    ['2026-11-21T20:00:00.5+02:00', '2026-11-21T18:00:00.500Z'],
  ])('takes the time %s', (text, time) => {
    expect(parseMoment(text)).toEqual({ kind: 'time', time: new Date(time) });
  });

  test('takes a position', () => {
    const position = new Map([
      ['runs', new Map([[0, 3]])],
      ['trees', new Map([[2, 41]])],
    ]);
    expect(parseMoment('runs.0:3,trees.2:41')).toEqual({ kind: 'position', position });
    expect(parseMoment('')).toEqual({ kind: 'position', position: new Map() });
  });

  // A time without a zone is another moment on another machine.
  test.each(['yesterday', '2026-11-21T20:00:00', '2026-13-01', '21.11.2026', 'runs:3'])(
    'refuses %j, with the forms it takes',
    (text) => {
      expect(() => parseMoment(text)).toThrow(
        `--as-of takes a position or a time such as 2026-11-21T20:00:00Z: ${JSON.stringify(text)} is not topic.partition:offset`,
      );
    },
  );
});
