import type { Db } from '../../postgres/database.ts';
import { may, owns, type Principal } from '../../postgres/principal.ts';
import { readAnnotationsById } from '../../projections/annotations/read-annotations.ts';
import type { Problem } from '../reply.ts';
import type { Sent } from './check-events.ts';

/**
 * Finds retractions of annotations that another key added: who added one retracts it, or an administrator. Returns null where the
 * read models are too far behind to say. @param folded waits until they hold the annotations of now.
 */
export async function foreignAnnotations(
  events: readonly Sent[],
  principal: Principal,
  db: Db,
  folded: () => Promise<boolean>,
): Promise<readonly Problem[] | null> {
  if (principal.keyId === null || may(principal, 'admin')) return [];
  if (!events.some(({ event }) => event.type === 'AnnotationRetracted')) return [];
  const retractions = events.flatMap(({ index, event }) => (event.type === 'AnnotationRetracted' ? [{ index, event }] : []));
  if (retractions.length === 0) return [];
  if (!(await folded())) return null; // one that is added in the same request may be on record already
  const ids = retractions.map(({ event }) => event.data.annotationId);
  const authors = new Map((await readAnnotationsById(db, ids)).map((row) => [keyOf(row.treeId, row.id), row.principal]));
  return retractions.flatMap(({ index, event }): Problem[] => {
    const author = authors.get(keyOf(event.data.treeId, event.data.annotationId));
    if (author === undefined || owns(principal, author)) return [];
    const message = `annotation ${event.data.annotationId} was added by ${author}`;
    return [
      { index, id: event.id, path: 'data.annotationId', message, remedy: 'retract it with that key, or one of the scope admin' },
    ];
  });
}

/** The same id in another tree is another annotation. */
function keyOf(treeId: string, annotationId: string): string {
  return `${treeId} ${annotationId}`;
}
