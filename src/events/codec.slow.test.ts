import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { arbitraryEvent } from '../testing/arbitrary-event.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { everyEvent } from '../testing/every-event.ts';
import { canonicalJson } from './canonical-json.ts';
import { catalogue, type EventType } from './catalogue.ts';
import { contentHash, type Decoded, decode, encode, parseEnvelope } from './codec.ts';
import { jsonSchemas } from './json-schema.ts';

const TYPES = Object.keys(catalogue) as EventType[]; // the keys of the catalogue are its types
const schemas = jsonSchemas();

function started(): Record<string, unknown> & { data: Record<string, unknown> } {
  const builder = new EventBuilder('codec');
  builder.run();
  // RunStarted
  return structuredClone(builder.events[0]) as unknown as Record<string, unknown> & { data: Record<string, unknown> };
}

function refusalOf(decoded: Decoded): unknown {
  if (decoded.kind !== 'refused') throw new Error('it was taken');
  return decoded.refusal;
}

describe('an event', () => {
  test.each(TYPES)('%s events of any content are read back from their bytes unchanged', (type) => {
    fc.assert(
      fc.property(arbitraryEvent(type, schemas[type]), (event) => {
        const decoded = decode(encode(event));
        expect(decoded).toEqual({ kind: 'event', event });
        if (decoded.kind === 'event') expect(encode(decoded.event).equals(encode(event))).toBe(true);
      }),
      { numRuns: 8 },
    );
  });

  test('canonical bytes do not depend on the order of keys, and differ with any part of the content', () => {
    for (const event of everyEvent()) {
      const turned = JSON.parse(JSON.stringify(event, (_key, value: unknown) => reversed(value)));
      expect(contentHash(turned)).toBe(contentHash(event));
      expect(
        contentHash({ ...event, occurredAt: '2000-01-01T00:00:00.000Z', sequence: 99, producer: { name: 'x', version: '9' } }),
      ).toBe(contentHash(event));
      for (const key of Object.keys(event.data)) {
        const data = { ...event.data, [key]: 'other' };
        const measured = key === 'timings' || key === 'call' || key === 'cache'; // how it was measured is not what was said
        const changed = contentHash({ ...event, data } as never); // any content has a hash
        expect(changed === contentHash(event)).toBe(measured);
      }
    }
  });
});

function reversed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).reverse());
}

describe('canonicalJson', () => {
  test('canonicalJson writes equal values as equal bytes, which are read back unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(JSON.parse(JSON.stringify(value, (_key, item: unknown) => reversed(item))))).toBe(text);
      }),
    );
  });
});

describe('bytes that are not an event', () => {
  test('any bytes are refused with a reason, never with an exception', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(decode(bytes)).toEqual({
          kind: 'refused',
          refusal: { code: expect.stringMatching(/./), path: expect.any(String), message: expect.stringMatching(/./) },
        });
      }),
    );
  });

  test('arbitrary JSON is refused', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), (text) => {
        expect(decode(Buffer.from(text)).kind).toBe('refused');
      }),
    );
  });

  test('an event changed in one place is accepted, or refused with the path, never with an exception', () => {
    const paths = pathsOf(started());
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.oneof(fc.jsonValue(), fc.constant(undefined)), (path, value) => {
        const event = started();
        setAt(event, path, value);
        const decoded = decode(Buffer.from(JSON.stringify(event)));
        if (decoded.kind === 'refused') expect(typeof decoded.refusal.path).toBe('string');
      }),
      { numRuns: 63 },
    );
  });

  test.each([
    ['nothing', '', 'malformed', ''],
    ['half an event', '{"type":"RunSt', 'malformed', ''],
    ['a list', '[]', 'malformed', ''],
    ['null', 'null', 'malformed', ''],
    ['no type', '{}', 'malformed', 'type'],
    ['a type of no catalogue', '{"type":"Nope"}', 'unknown-type', 'type'],
    ['a name of the prototype', '{"type":"constructor"}', 'unknown-type', 'type'],
    ['__proto__ as type', '{"type":"__proto__"}', 'unknown-type', 'type'],
    ['no version', '{"type":"RunStarted"}', 'malformed', 'schemaVersion'],
    ['version 0', '{"type":"RunStarted","schemaVersion":0}', 'malformed', 'schemaVersion'],
    ['a version that is no whole number', '{"type":"RunStarted","schemaVersion":1.5}', 'malformed', 'schemaVersion'],
    ['a version of the future', '{"type":"RunStarted","schemaVersion":2}', 'unknown-version', 'schemaVersion'],
    ['a byte order mark and half a character', '\uFEFF{"type":1}', 'malformed', 'type'],
  ])('%s is refused with code and path', (_name, text, code, path) => {
    expect(refusalOf(decode(Buffer.from(text)))).toEqual({ code, path, message: expect.stringMatching(/.{10}/) });
  });

  test.each([
    ['another stream', { stream: '00000000-0000-0000-0000-000000000000' }, 'stream'],
    ['an id in upper case', { id: 'A0000000-0000-0000-0000-000000000000' }, 'id'],
    ['a time of no calendar', { occurredAt: '2026-02-30T00:00:00.000Z' }, 'occurredAt'],
    ['a time before 1970', { occurredAt: '1969-12-31T23:59:59.999Z' }, 'occurredAt'],
    ['a sequence below 0', { sequence: -1 }, 'sequence'],
    ['a sequence beyond 2^53', { sequence: 2 ** 53 }, 'sequence'],
    ['a field that is none', { extra: 1 }, ''],
    ['a producer without a name', { producer: { name: '', version: '1' } }, 'producer.name'],
  ])('an event with %s is refused with the path', (_name, changes, path) => {
    expect(refusalOf(parseEnvelope({ ...started(), ...changes }))).toMatchObject({ code: 'invalid', path });
  });

  test.each([
    ['a number beyond all', '"seed":1', '"seed":1e999', 'data.seed'],
    ['a number beyond 2^53', '"seed":1', '"seed":9007199254740993', 'data.seed'],
    ['a number beyond all in the configuration', '"config":{}', '"config":{"a":[1e999]}', 'data.config'],
    ['NUL', '"name":"run"', '"name":"a\\u0000"', 'data.name'],
    ['half a surrogate pair', '"name":"run"', '"name":"\\ud83c"', 'data.name'],
    ['the halves the wrong way round', '"config":{}', '"config":{"a":["x","\\udf33\\ud83c"]}', 'data.config.a.1'],
    ['NUL in a key of the configuration', '"config":{}', '"config":{"a\\u0000":1}', 'data.config.a\uFFFD'],
    ['NUL below a key __proto__', '"config":{}', '"config":{"__proto__":{"a":"\\u0000"}}', 'data.config.__proto__.a'],
  ])('an event whose text has %s is refused with the path', (_name, part, other, path) => {
    const text = JSON.stringify(started());
    expect(text).toContain(part);
    expect(refusalOf(decode(Buffer.from(text.replace(part, other))))).toMatchObject({ code: 'invalid', path });
  });

  test.each([65, 1_000, 20_000, 500_000])('an event nested %i deep is refused, with escapes or without', (depth) => {
    for (const leaf of ['1', '"\\u0041"', '"\\u0000"']) {
      for (const [open, close] of [
        ['[', ']'],
        ['{"a":', '}'],
      ] as const) {
        const config = open.repeat(depth) + leaf + close.repeat(depth);
        const text = JSON.stringify(started()).replace('"config":{}', `"config":${config}`);
        expect(refusalOf(decode(Buffer.from(text)))).toMatchObject({ code: 'invalid', path: 'data.config' });
      }
    }
  });
});

describe('hostile keys', () => {
  test('hostile keys stay data and change no prototype', () => {
    const text = JSON.stringify(started()).replace(
      '"config":{}',
      '"config":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toJSON":1,"\\u0041":"\\u0041"}',
    );
    const decoded = decode(Buffer.from(text));
    expect(decoded.kind).toBe('event');
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    if (decoded.kind === 'event') expect(decode(encode(decoded.event))).toEqual(decoded);
  });
});

type Path = readonly (string | number)[];

function pathsOf(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [...(at.length > 0 ? [at] : []), ...Object.entries(value).flatMap(([key, item]) => pathsOf(item, [...at, key]))];
}

function setAt(target: unknown, path: Path, value: unknown): void {
  const [key, ...rest] = path;
  if (key === undefined || typeof target !== 'object' || target === null) return;
  const holder = target as Record<string | number, unknown>; // an object, as just seen
  if (rest.length === 0) holder[key] = value;
  else setAt(holder[key], rest, value);
}
