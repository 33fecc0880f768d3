import type { SearchFact } from '../../domain/search/search-facts.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { readEventsOfTypes } from '../journal/read-events-of-types.ts';

/**
 * Reads what happened in the search of a tree from the journal, in the order of the log. Empty for a tree that was not searched.
 */
export async function readSearchFacts(db: Db, treeId: string): Promise<readonly SearchFact[]> {
  const events = await readEventsOfTypes(db, treeId, ['NodeAdded', 'NodeExpanded', 'ValueBackedUp']);
  return events.map(factOf);
}

function factOf(event: Envelope<'NodeAdded' | 'NodeExpanded' | 'ValueBackedUp'>): SearchFact {
  switch (event.type) {
    case 'NodeAdded': {
      const { treeId: _, ...fact } = event.data;
      return { kind: 'child-added', ...fact };
    }
    case 'NodeExpanded': {
      const { simulation, stepId, reason } = event.data;
      return { kind: 'node-expanded', simulation, stepId, ...(reason === '' ? {} : { reason }) };
    }
    case 'ValueBackedUp': {
      const { treeId: _, ...fact } = event.data;
      return { kind: 'backed-up', ...fact };
    }
    default:
      return event satisfies never;
  }
}
