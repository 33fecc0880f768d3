import { z } from 'zod';
import { catalogue, type EventType } from './catalogue.ts';
import { schemaOf } from './codec.ts';

/** Gives the JSON Schema (draft 2020-12) of every event type, envelope and data, for producers in other languages. */
export function jsonSchemas(): Readonly<Record<EventType, object>> {
  const entries = (Object.keys(catalogue) as EventType[]).map((type) => [
    type,
    {
      title: type,
      description: `topic ${catalogue[type].topic}; stream and key: data.${catalogue[type].stream}`,
      ...z.toJSONSchema(schemaOf(type)),
    },
  ]);
  return Object.fromEntries(entries) as Record<EventType, object>; // one entry per key of the catalogue
}
