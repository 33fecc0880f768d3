import { expect, test } from '@jest/globals';
import { type EventLogFixture, fresh, freshTopic, numbered, record } from './fixture.ts';
import { until, type Watch, watch } from './watch.ts';

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/** What the members of one group promise each other. */
export function describeSharing(fixture: () => EventLogFixture): void {
  test('partitions count as read by nobody until a member of the group takes them, and again when the last one left', async () => {
    const { log, second } = fixture();
    const topic = await freshTopic(log, 3);
    const group = fresh('group');
    const unread = () => log.unread(group, [topic]);
    const all = new Map([[topic, [0, 1, 2]]]);
    expect(await unread()).toEqual(all);
    const reader = await watch(log, [topic], { group });
    await until('every partition is read', async () => (await unread()).size === 0);
    expect(await log.unread(fresh('other'), [topic])).toEqual(all);
    const other = await second();
    expect(await other.unread(group, [topic])).toEqual(new Map()); // whoever asks
    await other.close();
    await reader.close();
    await until('nobody reads any more', async () => (await unread()).get(topic)?.length === 3);
  });

  test('two members share the partitions, and when one closes the other takes over without losing a record', async () => {
    const { log, second } = fixture();
    const topic = await freshTopic(log, 4);
    const group = fresh('group');
    const other = await second();
    let appended = 0;
    const append = async (): Promise<boolean> => {
      const [partition, ...rest] = [
        ...new Set((await log.append(numbered(topic, KEYS.length, KEYS, appended))).map((r) => r.partition)),
      ];
      appended += KEYS.length;
      return partition !== undefined && rest.length === 3;
    };
    try {
      const members = [await watch(log, [topic], { group }), await watch(other, [topic], { group })] as const;
      // New records until a round was split between both members: each got part of it, together all of it.
      await until('both members got records', async () => {
        expect(await append()).toBe(true); // the keys reach all four partitions
        const last = appended - KEYS.length;
        await until('the round arrived', () => arrived(members, last) === KEYS.length);
        return members.every((member) => arrived([member], last) > 0);
      });
      const last = appended - KEYS.length;
      const shares = members.map((m) => new Set(m.records().flatMap((r) => (number(r.text) >= last ? [r.partition] : []))));
      expect([...shares[0]!].filter((partition) => shares[1]!.has(partition))).toEqual([]); // two shares: mapped from two members

      await members[0].close();
      await append();
      await until('the other took over', () => arrived([members[1]], appended - KEYS.length) === KEYS.length);
      await members[1].close();
      const all = new Set(members.flatMap((member) => member.texts()));
      expect([...all].map(number).sort((x, y) => x - y)).toEqual(Array.from({ length: appended }, (_, i) => i));
      for (const member of members) expectOrderPerPartition(member);
    } finally {
      await other.close();
    }
  });

  test('a member that closes its client hands over its partitions', async () => {
    const { log, second } = fixture();
    const topic = await freshTopic(log, 2);
    const leaving = await second();
    const first = await watch(leaving, [topic]);
    await log.append(numbered(topic, 10, KEYS));
    await until('the first member read', () => first.records().length === 10);
    await leaving.close();
    await expect(first.subscription.finished).resolves.toBeUndefined();
    await log.append([record(topic, 'a', 'after')]);
    const next = await watch(log, [topic], { group: first.group });
    await until('the next member read', () => next.records().length === 1);
    await next.close();
    expect(next.texts()).toEqual(['after']);
  });
}

/** Counts the distinct records numbered `from` or higher that the members got. */
function arrived(members: readonly Watch[], from: number): number {
  return new Set(members.flatMap((member) => member.texts()).filter((text) => number(text) >= from)).size;
}

function number(text: string): number {
  return Number(text.slice(text.indexOf('#') + 1));
}

/** A take-over may bring records again, but a member never sees the first sight of one behind a later one. */
function expectOrderPerPartition(member: Watch): void {
  const highest = new Map<number, number>();
  const met = new Set<string>();
  for (const { partition, offset } of member.records()) {
    if (!met.has(`${partition}/${offset}`)) expect(offset).toBeGreaterThan(highest.get(partition) ?? -1);
    met.add(`${partition}/${offset}`);
    highest.set(partition, Math.max(offset, highest.get(partition) ?? -1));
  }
}
