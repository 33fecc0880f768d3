import { catalogue } from './catalogue.ts';
import type { Envelope } from './envelope.ts';

/** An entity of a stream, by the field of `data` that names it. */
export interface Entity {
  readonly field: string;
  readonly id: string;
}

/**
 * Returns the entity that an event states a fact of, of which its stream has one event of the type: how a step was taken, how a
 * rollout ended. Null for types of which an entity may have many events, such as revisions of a reward.
 */
export function entityOf(event: Envelope): Entity | null {
  if (event.type === 'PromptShown' && event.data.judgementId !== undefined)
    return { field: 'judgementId', id: event.data.judgementId };
  const { entity }: { readonly stream: string; readonly entity?: string } = catalogue[event.type];
  if (entity === undefined) return null;
  return { field: entity, id: (event.data as Readonly<Record<string, unknown>>)[entity] as string }; // a UUID by its schema
}

/** What identifies the fact that an event states: the entity, in its stream, and the type. Null where `entityOf` is. */
export function factOf(event: Envelope): string | null {
  const entity = entityOf(event);
  return entity && `${event.stream} ${event.type} ${entity.id}`;
}
