import type { SearchFact } from '../../domain/search/search-facts.ts';
import { decode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';

/**
 * Reads what happened in the search of a tree from the journal, in the order of the log. Empty for a tree that was not searched.
 */
export async function readSearchFacts(db: Db, treeId: string): Promise<readonly SearchFact[]> {
  const rows = await db
    .selectFrom('events')
    .select('body')
    .where('stream', '=', treeId)
    .where('type', 'in', ['NodeAdded', 'NodeExpanded', 'ValueBackedUp'])
    .orderBy('position')
    .execute();
  return rows.flatMap(({ body }) => {
    const decoded = decode(Buffer.from(body));
    return decoded.kind === 'event' ? factsOf(decoded.event) : [];
  });
}

function factsOf(event: Envelope): SearchFact[] {
  switch (event.type) {
    case 'NodeAdded': {
      const { treeId: _, ...fact } = event.data;
      return [{ kind: 'child-added', ...fact }];
    }
    case 'NodeExpanded': {
      const { simulation, stepId, reason } = event.data;
      return [{ kind: 'node-expanded', simulation, stepId, ...(reason === '' ? {} : { reason }) }];
    }
    case 'ValueBackedUp': {
      const { treeId: _, ...fact } = event.data;
      return [{ kind: 'backed-up', ...fact }];
    }
    default:
      return [];
  }
}
