import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { sha256Hex } from '../digest/sha256.ts';
import { decode, encode } from '../events/codec.ts';
import { derivedId } from '../events/derived-id.ts';
import type { Envelope } from '../events/envelope.ts';
import { streamOf } from '../events/stream-of.ts';
import { everyEvent } from '../testing/every-event.ts';
import { appendTo, projectSlice, testLog } from '../testing/given-events.ts';
import { useTestDatabase } from '../testing/use-test-database.ts';

const database = useTestDatabase({ emptied: 'before-each' });

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const DIGEST = /\b([0-9a-f])\1{63}\b/g; // those that are made up
type Path = readonly (string | number)[];

/** Returns the paths of all values within a value. */
function pathsIn(value: unknown, path: Path = []): readonly Path[] {
  const below = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const own = path.length === 0 ? [] : [path];
  return [...own, ...below.flatMap(([key, item]) => pathsIn(item, [...path, Array.isArray(value) ? Number(key) : key]))];
}

function put(value: unknown, [key, ...rest]: Path, replace: (old: unknown) => unknown): unknown {
  if (key === undefined) return replace(value);
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string | number, unknown>;
  copy[key] = put(copy[key], rest, replace);
  return copy;
}

/** Returns the events under ids of their own, in each the value at its path of a number replaced, where its schema takes that. */
function changed(ordinal: string, at: number, replace: (old: unknown) => unknown): readonly Envelope[] {
  return everyEvent().flatMap((event) => {
    const text = JSON.stringify(event)
      .replace(UUID, (id) => derivedId('test', ordinal, id))
      .replace(DIGEST, (id) => sha256Hex(`${ordinal} ${id}`));
    const own = JSON.parse(text) as Envelope;
    const path = pathsIn(own.data)[at];
    const variants = path ? [put(own.data, path, replace), own.data] : [own.data];
    for (const data of variants as Envelope['data'][]) {
      const variant = { ...own, data, stream: streamOf(own.type, data) ?? own.stream } as Envelope;
      if (decode(encode(variant)).kind === 'event') return [variant];
    }
    return [];
  });
}

const MOST = Math.max(...everyEvent().map(({ data }) => pathsIn(data).length));

test.each<[string, (old: unknown) => unknown]>([
  ['null', () => null],
  ['empty', (old) => (typeof old === 'string' ? '' : typeof old === 'number' ? 0 : Array.isArray(old) ? [] : {})],
  [
    'negative or long',
    (old) => (typeof old === 'string' ? `${old}${'é'.repeat(9_000)}` : typeof old === 'number' ? -1 : { old }),
  ],
  ['as large as a number can be', (old) => (Number.isInteger(old) ? Number.MAX_SAFE_INTEGER : 1.7e308)],
])('a value of any event that is %s stops no projection', async (name, replace) => {
  const log = testLog();
  for (let at = 0; at < MOST; at++) appendTo(log, changed(`${name} ${at}`, at, replace));
  for (const [topic, { length }] of log.topics) await projectSlice(database.db, log, topic, 0, length);
  const { rows } = await sql<{ topic: string; least: number }>`
    select topic, min(next_offset) as least from cursors group by topic`.execute(database.db);
  expect(new Map(rows.map(({ topic, least }) => [topic, least]))).toEqual(
    new Map([...log.topics].map(([topic, { length }]) => [topic, length])),
  );
});
