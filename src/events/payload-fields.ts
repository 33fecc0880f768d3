import { z } from 'zod';
import { catalogue, type EventType } from './catalogue.ts';
import { pathIn } from './free-form.ts';
import { isPayload } from './schemas/values.ts';

/** The fields of each event type's data that are payload, as paths; `*` stands for every item of a list. Their schemas say so. */
export const payloadFields = Object.fromEntries(
  Object.entries(catalogue).map(([type, { data }]) => [type, fieldsIn(data, '')]),
) as unknown as { readonly [Type in EventType]: readonly string[] }; // of every type of the catalogue

function fieldsIn(schema: unknown, path: string): readonly string[] {
  if (schema instanceof z.ZodType && isPayload(schema)) return [path];
  if (
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodExactOptional ||
    schema instanceof z.ZodDefault
  )
    return fieldsIn(schema.unwrap(), path);
  if (schema instanceof z.ZodArray) return fieldsIn(schema.element, pathIn(path, '*'));
  if (schema instanceof z.ZodUnion) return [...new Set(schema.options.flatMap((option) => fieldsIn(option, path)))];
  if (schema instanceof z.ZodObject)
    return Object.entries(schema.shape).flatMap(([key, field]) => fieldsIn(field, pathIn(path, key)));
  return [];
}
