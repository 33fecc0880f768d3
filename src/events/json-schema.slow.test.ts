import { describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import fc from 'fast-check';
import { arbitraryEvent } from '../testing/arbitrary-event.ts';
import { everyEvent } from '../testing/every-event.ts';
import { catalogue, type EventType } from './catalogue.ts';
import { parseEnvelope } from './codec.ts';
import { jsonSchemas } from './json-schema.ts';

// An independent validator: what it accepts and refuses by the published schemas is what other producers rely on.
const ajv = new Ajv2020({ strict: true, allErrors: false });
formats.default(ajv);
ajv.addFormat('base64', /^(?:[0-9a-zA-Z+/]{4})*(?:[0-9a-zA-Z+/]{2}==|[0-9a-zA-Z+/]{3}=)?$/);
const schemas = jsonSchemas();
const TYPES = Object.keys(catalogue) as EventType[]; // the keys of the catalogue are its types
const validators = new Map(TYPES.map((type) => [type, ajv.compile(schemas[type])]));

function accepts(type: EventType, value: unknown): boolean {
  return validators.get(type)?.(value) === true;
}

describe('the published JSON Schemas', () => {
  test('every type has one schema in draft 2020-12, with its topic and key', () => {
    expect(Object.keys(schemas).sort()).toEqual([...TYPES].sort());
    for (const type of TYPES)
      expect(schemas[type]).toMatchObject({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        title: type,
        description: expect.stringContaining(`Topic: ${catalogue[type].topic}; stream and key: data.${catalogue[type].stream}.`),
      });
  });

  test('every type and every field, nested ones and list items included, has a description of one sentence', () => {
    const wrong = TYPES.flatMap((type) =>
      fieldsIn(schemas[type], type)
        .filter(({ description }) => !isSentence(description))
        .map(({ path, description }) => `${path}: ${description}`),
    );
    expect(wrong).toEqual([]);
    for (const type of TYPES)
      expect(schemas[type]).toHaveProperty('properties.data.description', catalogue[type].data.description);
  });

  test('the schemas accept an event of every type', () => {
    for (const event of everyEvent()) expect([event.type, accepts(event.type, event)]).toEqual([event.type, true]);
  });

  test.each(TYPES)('the schema of %s accepts what the codec accepts', (type) => {
    fc.assert(
      fc.property(arbitraryEvent(type, schemas[type]), (event) => {
        expect(parseEnvelope(event).kind).toBe('event');
        expect(accepts(type, event)).toBe(true);
      }),
      { numRuns: 5 },
    );
  });

  test('the schemas refuse the shapes that the codec refuses: a missing part, another kind of value, an unknown field', () => {
    for (const event of everyEvent()) {
      const wrong = [
        ...partsLeftOut(event),
        ...partsLeftOut(event.data).map((data) => ({ ...event, data })),
        ...Object.keys(event.data).map((key) => ({ ...event, data: { ...event.data, [key]: [[]] } })),
        { ...event, data: { ...event.data, extra: 1 } },
        { ...event, extra: 1 },
      ];
      for (const value of wrong)
        expect([event.type, value, accepts(event.type, value)]).toEqual([
          event.type,
          value,
          parseEnvelope(value).kind === 'event',
        ]);
    }
  });
});

function partsLeftOut(value: object): object[] {
  return Object.keys(value).map((key) => Object.fromEntries(Object.entries(value).filter(([other]) => other !== key)));
}

/** Every property of a JSON Schema at any depth, with its own description: that of an alternative inside it does not count. */
function fieldsIn(schema: unknown, path: string): readonly { readonly path: string; readonly description: unknown }[] {
  if (Array.isArray(schema)) return schema.flatMap((item) => fieldsIn(item, path));
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([keyword, value]) => {
    if (keyword !== 'properties') return fieldsIn(value, path);
    return Object.entries(value as Record<string, { description?: unknown }>).flatMap(([field, inner]) => [
      { path: `${path}.${field}`, description: inner.description },
      ...fieldsIn(inner, `${path}.${field}`),
    ]);
  });
}

function isSentence(text: unknown): boolean {
  return typeof text === 'string' && text.length <= 130 && /^[A-Z0-9`][^\n]*[^.\s]\.$/.test(text) && !/\. [A-Z]/.test(text);
}
