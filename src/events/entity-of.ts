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
  const { entity }: { readonly entity: string | readonly string[] | null } = catalogue[event.type];
  const fields = entity === null ? [] : [entity].flat();
  const field = fields.at(-1);
  if (field === undefined) return null;
  const names = fields.map((each) => String((event.data as Readonly<Record<string, unknown>>)[each])); // texts or numbers by its schema
  const name = names.at(-1) ?? '';
  return { field, name, id: names.length === 1 && isUuid(name) ? name : derivedId('entity', ...names) };
}

/** What identifies the fact that an event states: the entity, in its stream, and the type. Null where `entityOf` is. */
export function factOf(event: Envelope): string | null {
  const entity = entityOf(event);
  return entity && `${event.stream} ${event.type} ${entity.id}`;
}
