import { z } from 'zod';
import { catalogue, type EventType } from './catalogue.ts';

const known = new Map<EventType, ReadonlySet<string>>();

/**
 * Returns the fields of a type's data that are free-form JSON, as paths: `config`, `estimator.mode`. What a producer puts there
 * is its own: no text in it becomes a blob reference, and an object that looks like one is no payload.
 */
export function freeFormFields(type: EventType): ReadonlySet<string> {
  let fields = known.get(type);
  if (!fields) {
    fields = new Set(fieldsIn(catalogue[type].data, ''));
    known.set(type, fields);
  }
  return fields;
}

/** Names a field inside another, or an item of a list: all items of a list have one path. */
export function pathIn(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function fieldsIn(schema: unknown, path: string): readonly string[] {
  if (schema instanceof z.ZodUnknown) return [path]; // `json` with the description of the field, which makes it another object
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional || schema instanceof z.ZodDefault)
    return fieldsIn(schema.unwrap(), path);
  if (schema instanceof z.ZodArray) return fieldsIn(schema.element, pathIn(path, '*'));
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => fieldsIn(option, path));
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([key, field]) => fieldsIn(field, pathIn(path, key)));
  return [];
}
