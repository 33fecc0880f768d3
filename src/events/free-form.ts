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
    fields = new Set(fieldsOfKind(catalogue[type].data, isFreeForm));
    known.set(type, fields);
  }
  return fields;
}

/** Names a field inside another, or an item of a list: all items of a list have one path. */
export function pathIn(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/** Lists the paths of the fields of a schema that are of a kind; `*` stands for every item of a list. Nothing below such a field is looked at. */
export function fieldsOfKind(schema: unknown, isOfKind: (schema: unknown) => boolean, path = ''): readonly string[] {
  const below = (next: unknown, at = path) => fieldsOfKind(next, isOfKind, at);
  if (isOfKind(schema)) return [path];
  if (
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodExactOptional ||
    schema instanceof z.ZodDefault
  )
    return below(schema.unwrap());
  if (schema instanceof z.ZodArray) return below(schema.element, pathIn(path, '*'));
  if (schema instanceof z.ZodUnion) return [...new Set(schema.options.flatMap((option) => below(option)))];
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([key, field]) => below(field, pathIn(path, key)));
  return [];
}

/** `json` with the description of a field is another object than `json`. */
function isFreeForm(schema: unknown): boolean {
  return schema instanceof z.ZodUnknown;
}
