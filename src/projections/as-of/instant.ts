import { beginsWithDay } from './calendar-day.ts';

export type Instant =
  | { readonly kind: 'instant'; readonly time: Date }
  /** Not written as a time at all, or one with an hour, an offset or a year that there is not. */
  | { readonly kind: 'no-time' }
  /** The day is none of the calendar. */
  | { readonly kind: 'no-day'; readonly day: string };

const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;

/** How a time is to be written. */
export const TIME_FORM = 'a date (its first instant in UTC) or a time with its zone, such as 2026-01-31T09:30:00Z';

/**
 * Reads a time as it is given on a command line, in ISO 8601: a date alone is its first instant in UTC, a time of day names its
 * zone. Without one the same command would mean another time on another machine.
 */
export function readInstant(text: string): Instant {
  if (!TIME.test(text)) return { kind: 'no-time' };
  if (!beginsWithDay(text)) return { kind: 'no-day', day: text.slice(0, 10) };
  const time = new Date(text);
  const year = time.getUTCFullYear(); // an offset may move it out of those that Postgres reads
  return year >= 1 && year <= 9_999 ? { kind: 'instant', time } : { kind: 'no-time' };
}
