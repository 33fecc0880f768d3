import { describe, expect, test } from '@jest/globals';
import type { Extent } from '../log/event-log.ts';
import { findLogFaults, type KnownLog, LogChanged } from './log-faults.ts';

const holding = (...partitions: readonly Extent[]) => new Map([['trees', new Map(partitions.entries())]]);
const full: Extent = { first: 0, next: 10 };
const known: KnownLog = {
  partitions: new Map([['trees', 2]]),
  extents: holding(full, full),
  cursors: new Map([
    [
      'trees',
      new Map([
        [0, 10],
        [1, 7],
      ]),
    ],
  ]),
};

describe('a log compared with its record', () => {
  test('a log as it was recorded has no fault', () => {
    expect(findLogFaults(known)).toEqual([]);
  });

  test.each<readonly [string, Partial<KnownLog>, string, string]>([
    ['a topic that is gone', { extents: new Map() }, 'topic-missing', 'topic trees is gone'],
    ['fewer partitions', { extents: holding(full) }, 'other-partitions', 'topic trees has 1 partitions, and 2 are recorded'],
    [
      'more partitions',
      { extents: holding(full, full, { first: 0, next: 0 }) },
      'other-partitions',
      'topic trees has 3 partitions, and 2 are recorded',
    ],
    [
      'records deleted from the front',
      { extents: holding({ first: 4, next: 10 }, { first: 1, next: 10 }) },
      'records-gone',
      'trees.0 no longer holds the records from 0 to 4 (and 1 more partitions)',
    ],
    [
      'an end below a cursor',
      { extents: holding({ first: 0, next: 9 }, full) },
      'end-gone',
      'trees.0 ends at 9, and was folded up to 10',
    ],
  ])('%s is named', (_, change, kind, detail) => {
    expect(findLogFaults({ ...known, ...change })).toEqual([{ kind, topic: 'trees', detail }]);
  });

  test('a refusal names the faults and the remedy', () => {
    const logFaults = findLogFaults({ ...known, extents: holding({ first: 4, next: 10 }, full) });
    expect(new LogChanged(logFaults).message).toMatch(
      /^the log is not as it was recorded: trees\.0 no longer .*restore the topics/,
    );
  });
});
