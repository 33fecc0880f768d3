import { z } from 'zod';
import { catalogue, type EventType } from './catalogue.ts';
import { fieldsOfKind } from './free-form.ts';
import { isPayload } from './schemas/values.ts';

/** The fields of each event type's data that are payload, as paths; `*` stands for every item of a list. Their schemas say so. */
export const payloadFields = Object.fromEntries(
  Object.entries(catalogue).map(([type, { data }]) => [type, fieldsOfKind(data, isPayloadField)]),
) as unknown as { readonly [Type in EventType]: readonly string[] }; // of every type of the catalogue

function isPayloadField(schema: unknown): boolean {
  return schema instanceof z.ZodType && isPayload(schema);
}
