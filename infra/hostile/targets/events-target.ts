import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { Envelope } from '../../../src/events/envelope.ts';
import { EventBuilder } from '../../../src/testing/event-builder.ts';
import { everyEvent } from '../../../src/testing/every-event.ts';
import { type Change, change, changed, damage, damaged, RAW_TEXTS, write } from '../hostile-values.ts';
import { outcomeOf, request } from '../request.ts';
import { target } from '../target.ts';

interface Posted {
  readonly body: Buffer;
  readonly type: string;
  readonly encoding: 'plain' | 'gzip' | 'gzip in name only';
}

const one = (event: unknown, changes: readonly Change[]) => changes.reduce(changed, event);
const bytes = (value: unknown) => Buffer.from(write(value));

/** A run with a tree of two rollouts under ids that nobody had: what is sent whole is taken. */
const fresh = fc.nat({ max: 2 ** 31 - 1 }).map((n): readonly Envelope[] => {
  const builder = new EventBuilder(`hostile ${n}`);
  const runId = builder.run();
  builder.walk(builder.tree(runId), 0, 3, 1);
  return builder.events;
});

const bodies: fc.Arbitrary<Buffer> = fc.oneof(
  // One event of any type with one to three fields changed.
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom(...everyEvent()), fc.array(change, { minLength: 1, maxLength: 3 }))
      .map(([event, changes]) => bytes(one(event, changes))),
  },
  // Events of which one is changed: its neighbours would be taken.
  {
    weight: 4,
    arbitrary: fc
      .tuple(fresh, fc.nat(), fc.array(change, { maxLength: 2 }))
      .map(([builder, at, changes]) =>
        bytes(builder.map((event, i) => (i === at % builder.length ? one(event, changes) : event))),
      ),
  },
  // Events out of order, with pieces missing, or with what belongs to another: references that lead nowhere or round in a
  // circle.
  { weight: 3, arbitrary: fc.tuple(fresh, fresh, fc.infiniteStream(fc.nat())).map(([a, b, dice]) => bytes(tangled(a, b, dice))) },
  { weight: 2, arbitrary: fc.tuple(fresh, damage).map(([builder, harm]) => damaged(bytes(builder), harm)) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 300 }).map((raw) => Buffer.from(raw)) },
  { weight: 1, arbitrary: fc.constantFrom(...RAW_TEXTS).map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: fresh.map((builder) => Buffer.from(builder.map((event) => JSON.stringify(event)).join('\n'))) },
);

const types = fc.constantFrom(
  'application/json',
  'application/json',
  'application/json',
  'application/x-ndjson',
  'application/json; charset=utf-16',
  'text/plain',
  '',
);

/** `POST /v1/events`: what is appended is what the answer says, and what is refused leaves nothing. */
export const eventsTarget = target<Posted>({
  name: 'events',
  always: [
    ...RAW_TEXTS.map((text) => plain(Buffer.from(text))),
    ...[bomb(64, 1), bomb(40, 2), bomb(512, 1)],
    ...everyEvent().map((event) => plain(bytes(event))),
    { body: gzipSync(Buffer.alloc(0)), type: 'application/json', encoding: 'gzip' },
    { body: gzipSync('[]').subarray(0, 10), type: 'application/json', encoding: 'gzip' },
  ],
  cases: fc.record({ body: bodies, type: types, encoding: fc.constantFrom('plain', 'plain', 'gzip', 'gzip in name only') }),
  way: {
    process: 'api',
    async send(stage, { body, type, encoding }) {
      return outcomeOf(
        await request(`${stage.url.api}/v1/events`, {
          method: 'POST',
          body: encoding === 'gzip' ? gzipped(body) : body,
          type,
          headers: encoding === 'plain' ? {} : { 'content-encoding': 'gzip' },
        }),
      );
    },
  },
});

function plain(body: Buffer): Posted {
  return { body, type: 'application/json', encoding: 'plain' };
}

/** So many MB of zeros, compressed again and again: 1,000 to one each time. */
function bomb(megabytes: number, times: number): Posted {
  let body: Buffer = Buffer.alloc(megabytes * 2 ** 20);
  for (let i = 0; i < times; i++) body = gzipSync(body);
  return { body, type: 'application/json', encoding: 'gzip in name only' };
}

/** What is compressed already is not compressed again. */
function gzipped(body: Buffer): Buffer {
  return body[0] === 0x1f && body[1] === 0x8b ? body : gzipSync(body, { level: 1 });
}

function tangled(a: readonly Envelope[], b: readonly Envelope[], dice: Iterator<number>): readonly unknown[] {
  const roll = (sides: number) => (dice.next().value as number) % Math.max(1, sides); // the stream has no end
  const left = [...a];
  const mixed: Record<string, unknown>[] = [];
  while (left.length > 0)
    mixed.push(structuredClone(left.splice(roll(3) === 0 ? roll(left.length) : 0, 1)[0]) as unknown as Record<string, unknown>);
  const ids = [...a, ...b]
    .flatMap(({ data }) => Object.values(data))
    .filter((value): value is string => typeof value === 'string' && value.length === 36);
  for (const event of mixed) {
    const data = event.data as Record<string, unknown>; // every event has data
    const named = Object.keys(data).filter((key) => key.endsWith('Id'));
    const at = named[roll(named.length)];
    if (at !== undefined && roll(6) === 0) data[at] = ids[roll(ids.length)]; // itself, its child, another tree's
    if (roll(8) === 0) event.sequence = [0, 7, 2 ** 53 - 1, 1_000_000][roll(4)];
    if (roll(10) === 0) data.depth = [0, 1, 5, 2 ** 31][roll(4)];
  }
  return roll(3) === 0 ? mixed.slice(0, roll(mixed.length) + 1) : mixed;
}
