import { z } from 'zod';
import { catalogue, type EventType } from './catalogue.ts';
import { schemaOf } from './codec.ts';

/** Returns the JSON Schema (draft 2020-12) of every event type, envelope and data, for producers in other languages. */
export function jsonSchemas(): Readonly<Record<EventType, object>> {
  const entries = (Object.keys(catalogue) as EventType[]).map((type) => {
    const { topic, stream, data } = catalogue[type];
    const description = `${data.description} Topic: ${topic}; stream and key: data.${stream}.`;
    return [type, { title: type, description, ...z.toJSONSchema(schemaOf(type)) }];
  });
  return Object.fromEntries(entries) as Record<EventType, object>; // one entry per key of the catalogue
}
