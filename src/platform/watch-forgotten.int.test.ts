import { expect, test } from '@jest/globals';
import { destroyKeys, keysOfStreams } from '../postgres/stream-keys.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { until } from '../testing/until.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';
import { watchForgotten } from './watch-forgotten.ts';

const database = useTestDatabase({ emptied: 'before-each' });

test('what a process keeps is dropped when any process destroyed a key, and not while keys are only made', async () => {
  const { db } = database;
  const ids = new EventBuilder('watched');
  let drops = 0;
  const watching = watchForgotten({ database }, () => void drops++, { lookMs: 5 });
  try {
    await keysOfStreams(db, [ids.id('kept'), ids.id('another')]);
    expect(drops).toBe(0);
    await until(async () => {
      const gone = [ids.id('gone')];
      await keysOfStreams(db, gone);
      await destroyKeys(db, gone);
      return drops > 0;
    });
  } finally {
    await watching.close();
  }
});
