import type { Db } from '../../postgres/database.ts';
import { countEach, countUpTo, type Page, type PageRequest, readPage, type UpTo } from '../../postgres/keyset.ts';
import { measureSearch, SearchTooWide } from './plan-search.ts';
import { isSelective, SAMPLE_ORDERING, type SampleFilter, samplesOf } from './sample-query.ts';
import { planSamples, type SamplePlan, type SearchedSamples, searchSamples } from './search-samples.ts';

/** A sample, by its rollout in its tree. */
export interface SampleRef {
  readonly rolloutId: string;
  readonly treeId: string;
}

/**
 * Reads the ids of one page of training samples. A search of the texts of a run, a tree or a task may end a page early
 * (`searchSamples`). @throws InvalidCursor.
 */
export async function readChosenSamples(db: Db, filter: SampleFilter, page: PageRequest): Promise<Page<SampleRef>> {
  if (isSearched(filter)) return searchSamples(db, filter, page);
  return readPage(db, samplesOf(db, filter).select(['samples.rolloutId', 'samples.treeId']), SAMPLE_ORDERING, page);
}

/** Counts the training samples of a filter. @throws SearchTooWide where too many texts would be looked at. */
export async function countChosenSamples(db: Db, filter: SampleFilter): Promise<number> {
  const byIndex = isSearched(filter) && (await planCount(db, filter)) === 'index';
  const [count = 0] = await countEach(db, [samplesOf(db, filter, byIndex ? ['holding', 'matching'] : ['matching'])]);
  return count;
}

/** Counts the training samples of a filter up to a number; a search of texts counts those that one page finds. */
export async function countSamplesUpTo(db: Db, filter: SampleFilter, upTo: number): Promise<UpTo> {
  if (!isSearched(filter)) return countUpTo(db, samplesOf(db, filter), SAMPLE_ORDERING, upTo);
  const page: PageRequest = { limit: upTo, towards: 'forwards', after: null, before: null };
  const { rows, hasNext } = await searchSamples(db, filter, page);
  return { count: rows.length, complete: !hasNext };
}

const HOLDING = 30_000; // steps that the index finds by itself, in milliseconds
const LOOKED_AT = 2_000; // steps whose texts are looked at
const COUNTED = 10_000; // steps whose texts are looked at for a count: two seconds

/** Refuses words that the texts of too many steps hold, where nothing else chooses few. @throws SearchTooWide. */
export async function checkSampleSearch(db: Db, { text, ...filter }: SampleFilter): Promise<void> {
  if (!text || text.mark === null || isSelective(filter)) return;
  const { within, exact } = await measureSearch(db, { ...text, mark: text.mark }, filter);
  const most = exact ? HOLDING : LOOKED_AT;
  if (within <= most) return;
  throw new SearchTooWide(
    `up to ${Math.ceil(within)} steps hold these words, and samples are found by at most ${most}; name a run, a tree or a task, or search \`steps\` and ask for the samples of their rollouts`,
  );
}

async function planCount(db: Db, { text, ...filter }: SearchedSamples): Promise<SamplePlan> {
  if (text.mark === null) return 'look-through';
  const { steps, within } = await measureSearch(db, { ...text, mark: text.mark }, filter);
  const plan = await planSamples(db, { ...filter, text });
  const [looked, most] = plan === 'index' ? [within, LOOKED_AT] : [steps, COUNTED];
  if (looked <= most) return plan;
  throw new SearchTooWide(
    `the texts of up to ${Math.ceil(looked)} steps would be looked at, and ${most} are for a count; ask for count(upTo: 1000), or name a tree or a task`,
  );
}

function isSearched(filter: SampleFilter): filter is SearchedSamples {
  return filter.text !== undefined && isSelective(filter);
}
