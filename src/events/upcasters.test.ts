import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { everyEvent, fixtureName } from '../testing/every-event.ts';
import { catalogue, type EventType } from './catalogue.ts';
import { decode, encode } from './codec.ts';
import { upcast } from './upcasters.ts';

const FOLDER = new URL('./fixtures/', import.meta.url);
const fixtures = readdirSync(FOLDER).map((file) => {
  const [, type = '', version = ''] = /^(\w+)\.v(\d+)(?:\.\w+)?\.json$/.exec(file) ?? [];
  return { file, type, version: Number(version), bytes: readFileSync(new URL(file, FOLDER)) };
});

describe('upcast', () => {
  const steps = {
    RunStarted: {
      1: ({ data, ...event }: Record<string, unknown>) => ({ ...event, data: { ...(data as object), second: true } }),
      2: ({ data, ...event }: Record<string, unknown>) => ({ ...event, data: { ...(data as object), third: true } }),
    },
  };

  test('upcast lifts an event one version at a time to the current one, and does not change its argument', () => {
    const old = { type: 'RunStarted', schemaVersion: 1, data: { name: 'a' } };
    expect(upcast('RunStarted', 1, old, steps)).toEqual({
      type: 'RunStarted',
      schemaVersion: 3,
      data: { name: 'a', second: true, third: true },
    });
    expect(upcast('RunStarted', 2, { ...old, schemaVersion: 2 }, steps)).toEqual({
      type: 'RunStarted',
      schemaVersion: 3,
      data: { name: 'a', third: true },
    });
    expect(old).toEqual({ type: 'RunStarted', schemaVersion: 1, data: { name: 'a' } });
  });

  test('upcast has a step from every version that a type has left behind', () => {
    for (const [type, { version }] of Object.entries(catalogue))
      for (let v = 1; v < version; v++)
        // a key of the catalogue
        expect(upcast(type as EventType, v, { schemaVersion: v })).toMatchObject({ schemaVersion: version });
    expect(() => upcast('RunStarted', 7, { schemaVersion: 7 }, steps)).toThrow('no upcaster from version 7 of RunStarted');
  });
});

describe('frozen fixtures', () => {
  // A new one is built in src/testing/every-event.ts and written by src/testing/write-fixtures.ts.
  test('every version of every type has a fixture', () => {
    const wanted = Object.entries(catalogue).flatMap(([type, { version }]) =>
      Array.from({ length: version }, (_, i) => `${type}.v${i + 1}.json`),
    );
    expect(fixtures.map(({ file }) => file)).toEqual(expect.arrayContaining(wanted));
  });

  test.each(fixtures)('$file is still read as an event of the current version', ({ type, version, bytes }) => {
    const decoded = decode(bytes);
    if (decoded.kind === 'refused') throw new Error(JSON.stringify(decoded.refusal));
    expect(decoded.event.type).toBe(type);
    const { version: current } = catalogue[type as EventType]; // as decoded
    expect(decoded.event.schemaVersion).toBe(current);
    if (version === current) expect(JSON.parse(encode(decoded.event).toString())).toEqual(JSON.parse(bytes.toString()));
  });

  test('fixtures of the current version equal what is written today', () => {
    for (const event of everyEvent()) {
      const frozen = fixtures.find(({ file }) => file === fixtureName(event));
      expect(JSON.parse(frozen?.bytes.toString() ?? 'null')).toEqual(event);
    }
  });
});
