import { expect, test } from '@jest/globals';
import { readInstant } from './instant.ts';

test.each([
  ['2026-01-01', '2026-01-01T00:00:00.000Z'],
  ['2026-01-01T10:00Z', '2026-01-01T10:00:00.000Z'],
  ['2026-01-01T10:00:00.25+02:00', '2026-01-01T08:00:00.250Z'],
  ['2024-02-29T23:59:59-05:30', '2024-03-01T05:29:59.000Z'],
  ['0001-01-01', '0001-01-01T00:00:00.000Z'],
])('%s is the instant %s on every machine', (text, instant) => {
  expect(readInstant(text)).toEqual({ kind: 'instant', time: new Date(instant) });
});

test.each(['2026-02-30', '2026-02-29T10:00Z', '2026-00-10', '2026-04-31T00:00:00+02:00'])(
  '%s is refused as a day that does not exist',
  (text) => {
    expect(readInstant(text)).toEqual({ kind: 'no-day', day: text.slice(0, 10) });
  },
);

test.each([
  ...['', 'yesterday', '2026-01-01T10:00', '2026-01-01T10:00:00', '2026-01-01 (hello)', '2026-01-01xyz', '2026-01-01T25:00Z'],
  ...['2026-01-01T10:00+25:00', '01/02/2026', '0000-01-01', '0001-01-01T00:00+14:00', '9999-12-31T23:59-14:00', '+012026-01-01'],
])('%j is refused as an instant, since a time of day needs a zone', (text) => {
  expect(readInstant(text)).toEqual({ kind: 'no-time' });
});
