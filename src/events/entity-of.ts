import { isUuid } from '../domain/ids.ts';
import { catalogue } from './catalogue.ts';
import { derivedId } from './derived-id.ts';
import type { Envelope } from './envelope.ts';

/** An entity of a stream, by the field of `data` that names it; where that is no UUID, such as a digest, its id is derived. */
export interface Entity {
  readonly field: string;
  /** What the field holds; for messages, as an id that is derived says nothing to the sender. */
  readonly name: string;
  readonly id: string;
}

/**
 * Returns the entity that an event states a fact of, of which its stream has one event of the type: how a step was taken, how a
 * rollout ended. Null for types of which an entity may have many events, such as revisions of a reward.
 */
export function entityOf(event: Envelope): Entity | null {
  if (event.type === 'PromptShown' && event.data.judgementId !== undefined)
    return { field: 'judgementId', name: event.data.judgementId, id: event.data.judgementId };
  if (event.type === 'DatasetSourced')
    // of two releases at once either may record its parts first
    return { field: 'part', name: String(event.data.part), id: derivedId('entity', event.data.sha256, event.data.part) };
  const { entity }: { readonly stream: string; readonly entity?: string } = catalogue[event.type];
  if (entity === undefined) return null;
  const name = String((event.data as Readonly<Record<string, unknown>>)[entity]); // a text or a number by its schema
  return { field: entity, name, id: isUuid(name) ? name : derivedId('entity', name) };
}

/** What identifies the fact that an event states: the entity, in its stream, and the type. Null where `entityOf` is. */
export function factOf(event: Envelope): string | null {
  const entity = entityOf(event);
  return entity && `${event.stream} ${event.type} ${entity.id}`;
}
