import { expect, test } from '@jest/globals';
import { type EventLogFixture, fresh, freshTopic, numbered, numberedTexts, record } from './fixture.ts';
import { until, watch } from './watch.ts';

/** What a group promises about a member whose process is stopped (SIGSTOP) in the middle of its work, and later goes on. */
export function describeFreezing(fixture: () => EventLogFixture): void {
  test('a member whose process is frozen is replaced, its late answer is refused, and it comes back as another member', async () => {
    const { log, elsewhere } = fixture();
    if (!elsewhere) throw new Error('the fixture starts no members elsewhere');
    const topic = await freshTopic(log);
    const group = fresh('group');
    await log.append(numbered(topic, 3));
    const frozen = await elsewhere(group, topic);
    try {
      await until('it is at work', () => frozen.texts().length === 3);
      frozen.signal('SIGSTOP');
      const other = await watch(log, [topic], { group });
      await log.append(numbered(topic, 2, ['k'], 3));
      await until('the other replaced it', () => other.records().length === 5);
      expect(other.texts()).toEqual(numberedTexts(0, 5));
      frozen.answer(); // for the first three
      frozen.signal('SIGCONT');
      await until('a record went to the frozen member again', async () => {
        await other.close(); // closing twice does nothing
        await log.append([record(topic, 'k', 'later')]);
        return frozen.texts().length > 3;
      });
      // Had its answer counted, it would have been handed what the other had done.
      expect(new Set(frozen.texts().slice(3))).toEqual(new Set(['later']));
    } finally {
      await frozen.close();
    }
  });

  test('a partition whose only member is frozen counts as read by nobody, also where nothing is appended, and is read again when it goes on', async () => {
    const { log, elsewhere } = fixture();
    if (!elsewhere) throw new Error('the fixture starts no members elsewhere');
    const topic = await freshTopic(log);
    const group = fresh('group');
    const unread = () => log.unread(group, [topic]);
    expect(await unread()).toEqual(new Map([[topic, [0]]]));
    const frozen = await elsewhere(group, topic);
    try {
      await until('it reads', async () => (await unread()).size === 0);
      frozen.signal('SIGSTOP');
      await until('it counts as silent', async () => (await unread()).size === 1);
      frozen.signal('SIGCONT');
      await until('it reads again', async () => (await unread()).size === 0);
    } finally {
      await frozen.close();
    }
  });
}
