import type { Db } from '../../postgres/database.ts';
import { countEach, countUpTo, joinPages, type Page, type PageRequest, readPages, type UpTo } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { OfTree } from '../of-tree.ts';
import { measureSearch, SearchTooWide } from './plan-search.ts';
import { type IndexedFilter, searchSteps } from './search-steps.ts';
import { STEP_ORDERINGS, type StepFilter, stepsOf } from './step-query.ts';
import { textArms } from './text-query.ts';

/**
 * Reads the ids of one page of steps. A search of texts that are indexed may end a page early (`searchSteps`).
 * @throws InvalidCursor.
 */
export async function readChosenSteps(db: Db, filter: StepFilter, ordering: Ordering, page: PageRequest): Promise<Page<OfTree>> {
  if (isIndexed(filter) && ordering.name !== STEP_ORDERINGS.VISITS.name) return searchSteps(db, filter, ordering, page);
  const ids = armsOf(filter).map((arm) => stepsOf(db, filter, arm).select(['steps.stepId as id', 'steps.treeId']));
  return joinPages(await readPages(db, ids, ordering, page), ordering, page);
}

const COUNTED = 30_000; // steps that the index finds by itself
const LOOKED_AT = 10_000; // steps whose texts are looked at: two seconds

/** Counts the steps of a filter. @throws SearchTooWide where too many texts would be looked at. */
export async function countChosenSteps(db: Db, filter: StepFilter): Promise<number> {
  if (isIndexed(filter)) {
    const { matches, within, exact } = await measureSearch(db, filter.text, filter);
    if (Math.min(matches, within) > (exact ? COUNTED : LOOKED_AT))
      throw new SearchTooWide(
        `up to ${Math.ceil(within)} steps hold these words, and ${exact ? COUNTED : LOOKED_AT} are counted one by one; ask for count(upTo: 1000), or name a run, a tree, a task or a rollout`,
      );
  }
  const counts = await countEach(
    db,
    armsOf(filter).map((arm) => stepsOf(db, filter, arm)),
  );
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Counts the steps of a filter up to a number; a search of texts counts those that one page finds. */
export async function countStepsUpTo(db: Db, filter: StepFilter, upTo: number): Promise<UpTo> {
  if (!isIndexed(filter) && !filter.text) return countUpTo(db, stepsOf(db, filter), STEP_ORDERINGS.TREE, upTo);
  const page: PageRequest = { limit: upTo, towards: 'forwards', after: null, before: null };
  const { rows, hasNext } = await readChosenSteps(db, filter, STEP_ORDERINGS.TREE, page);
  return { count: rows.length, complete: !hasNext };
}

function isIndexed(filter: StepFilter): filter is IndexedFilter {
  return filter.text !== undefined && filter.text.mark !== null;
}

function armsOf({ text }: StepFilter) {
  return text ? textArms(text) : [undefined];
}
