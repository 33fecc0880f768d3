import { groupBy } from '../../src/domain/group-by.ts';
import type { Db } from '../../src/postgres/database.ts';
import type { Page } from '../../src/postgres/keyset.ts';
import { ActionsNotIndexed, checkActionsIndexed } from '../../src/projections/analysis/build-indexes.ts';
import {
  checkSampleSearch,
  countChosenSamples,
  countSamplesUpTo,
  readChosenSamples,
} from '../../src/projections/analysis/choose-samples.ts';
import { countChosenSteps, countStepsUpTo, readChosenSteps } from '../../src/projections/analysis/choose-steps.ts';
import { countChosenTasks, readChosenTasks, type TaskRecord } from '../../src/projections/analysis/choose-tasks.ts';
import {
  countChosenToolCalls,
  countToolCallsUpTo,
  readChosenToolCalls,
  TOOL_CALL_ORDERINGS,
} from '../../src/projections/analysis/choose-tool-calls.ts';
import { SearchTooWide } from '../../src/projections/analysis/plan-search.ts';
import type { SampleFilter } from '../../src/projections/analysis/sample-query.ts';
import { isSelective, STEP_ORDERINGS, type StepFilter } from '../../src/projections/analysis/step-query.ts';
import {
  checkGoalsIndexed,
  checkStepsIndexed,
  readTextMark,
  TextNotIndexed,
} from '../../src/projections/analysis/text-indexes.ts';
import {
  checkWords,
  type Highlight,
  MATCH,
  MATCH_END,
  readHighlights,
  UnsearchableText,
} from '../../src/projections/analysis/text-query.ts';
import { keyInTree, type OfTree } from '../../src/projections/of-tree.ts';
import type { ToolCallRecord } from '../../src/projections/step-tree/read-tool-calls.ts';
import type { SampleRecord } from '../../src/projections/training-pool/read-samples.ts';
import { argumentId } from '../argument-id.ts';
import { bounded, type Connection, type CountedConnection, connect, counting } from '../connection.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import { sampleFilter, stepFilter, taskFilter, toolCallFilter } from '../filters.ts';
import type * as input from '../generated/types.ts';
import type { StepMatches } from '../models.ts';

const LEVELS = 10_000; // below a step: as many as a path has at once

/** Answers `Query.steps`. @throws BAD_USER_INPUT; UNAVAILABLE where the texts of a large record are not indexed. */
export async function connectSteps(
  args: input.RequireFields<input.QueryStepsArgs, 'orderBy'>,
  { sources: { db }, loaders }: Context,
): Promise<StepMatches> {
  const asked = { ...stepFilter(args.filter), ...subtreeOf(args) };
  const text = asked.text ? { ...asked.text, mark: await readTextMark(db) } : null;
  const filter = text === null ? asked : { ...asked, text };
  if (args.orderBy === 'VISITS' && filter.under === undefined && filter.treeId === undefined)
    throw refusal('BAD_USER_INPUT', 'orderBy: VISITS orders the steps of one tree; name it by under or filter.tree', {
      argument: 'orderBy',
    });
  if (text !== null)
    await searchable(db, text.words, async () => (isSelective(filter) ? undefined : checkStepsIndexed(db, text.mark)));
  if (filter.action !== undefined && !isSelective(filter)) await indexed(() => checkActionsIndexed(db));
  const found = await connect(
    args,
    async (page) =>
      filled(await readChosenSteps(db, filter, STEP_ORDERINGS[args.orderBy], page), (step) => loaders.step.load(step)),
    () => countable(() => countChosenSteps(db, filter)),
  );
  const count = counting((upTo) => countStepsUpTo(db, filter, upTo));
  return { ...found, count, edges: found.edges.map((edge) => ({ ...edge, text })) };
}

/** Answers `Query.toolCalls`. @throws BAD_USER_INPUT. */
export async function connectToolCalls(
  args: input.RequireFields<input.QueryToolCallsArgs, 'orderBy'>,
  { sources: { db } }: Context,
): Promise<CountedConnection<ToolCallRecord>> {
  const filter = toolCallFilter(args.filter);
  if (args.orderBy !== 'TREE' && filter.tool === undefined)
    throw refusal('BAD_USER_INPUT', `orderBy: ${args.orderBy} orders the calls of one tool; name it in filter.tool`, {
      argument: 'orderBy',
    });
  if (filter.text !== undefined) {
    if (![filter.stepId, filter.treeId, filter.taskId, filter.runId].some((id) => id !== undefined))
      throw refusal(
        'BAD_USER_INPUT',
        'no index holds the texts of tool calls; name a step, a tree, a task or a run in the filter',
        {
          argument: 'filter.text',
        },
      );
    await searchable(db, filter.text, async () => undefined);
  }
  const found = await connect(
    args,
    async (page) => readChosenToolCalls(db, filter, TOOL_CALL_ORDERINGS[args.orderBy], page),
    () => countChosenToolCalls(db, filter),
  );
  return { ...found, count: counting((upTo) => countToolCallsUpTo(db, filter, upTo)) };
}

/**
 * Answers `Query.samples`. @throws BAD_USER_INPUT; UNAVAILABLE where the texts of a large record are not indexed, or too many are
 * searched.
 */
export async function connectSamples(
  args: input.QuerySamplesArgs,
  { sources: { db }, loaders }: Context,
): Promise<CountedConnection<SampleRecord>> {
  const asked = sampleFilter(args.filter);
  const filter: SampleFilter = asked.text ? { ...asked, text: { ...asked.text, mark: await readTextMark(db) } } : asked;
  const { text } = filter;
  if (text !== undefined) {
    await searchable(db, text.words, async () => (isSelective(filter) ? undefined : checkStepsIndexed(db, text.mark)));
    await countable(() => checkSampleSearch(db, filter));
  }
  const found = await connect(
    args,
    async (page) =>
      filled(await readChosenSamples(db, filter, page), ({ treeId, rolloutId: id }) => loaders.sample.load({ treeId, id })),
    () => countable(() => countChosenSamples(db, filter)),
  );
  return { ...found, count: counting((upTo) => countSamplesUpTo(db, filter, upTo)) };
}

/** Answers `Query.tasks`. @throws BAD_USER_INPUT; UNAVAILABLE where the goals of a large record are not indexed. */
export async function connectTasks(args: input.QueryTasksArgs, { sources: { db } }: Context): Promise<Connection<TaskRecord>> {
  const filter = taskFilter(args.filter);
  if (filter.text !== undefined)
    await searchable(db, filter.text, async () => (filter.runId === undefined ? checkGoalsIndexed(db) : undefined));
  return connect(
    args,
    (page) => readChosenTasks(db, filter, page),
    () => countChosenTasks(db, filter),
  );
}

export const StepEdge: input.StepEdgeResolvers = {
  highlights: async ({ node, text }, marks, { sources: { db } }) => {
    if (text === null) return [];
    const found = await highlightsOf(db, text, node);
    return found.map(({ field, text: fragments }) => ({ field, text: marked(fragments, marks) }));
  },
};

/** The steps of one page share their words, which every edge of it refers to: they come in one statement. */
const waiting = new WeakMap<object, { readonly steps: OfTree[]; readonly read: Promise<ReadonlyMap<string, Highlight[]>> }>();

async function highlightsOf(
  db: Db,
  text: NonNullable<StepMatches['edges'][number]['text']>,
  { treeId, id }: OfTree,
): Promise<readonly Highlight[]> {
  let asked = waiting.get(text);
  if (!asked) {
    const steps: OfTree[] = [];
    const read = Promise.resolve().then(async () => {
      waiting.delete(text);
      return groupBy(await readHighlights(db, text, steps), (highlight) => keyInTree(highlight.treeId, highlight.stepId));
    });
    asked = { steps, read };
    waiting.set(text, asked);
  }
  asked.steps.push({ treeId, id });
  return (await asked.read).get(keyInTree(treeId, id)) ?? [];
}

function marked(text: string, { open, close }: { readonly open: string; readonly close: string }): string {
  return text.replaceAll(MATCH, () => open).replaceAll(MATCH_END, () => close);
}

function subtreeOf({ under, depth }: input.QueryStepsArgs): Pick<StepFilter, 'under' | 'levels'> {
  if (typeof under !== 'string') {
    if (typeof depth !== 'number') return {};
    throw refusal('BAD_USER_INPUT', 'depth counts levels below a step; name it by under', { argument: 'depth' });
  }
  const levels = typeof depth === 'number' ? { levels: bounded('depth', depth, LEVELS) } : {};
  return { under: argumentId('under', under), ...levels };
}

/** @throws UNAVAILABLE where all actions of a large record would be compared. */
async function indexed(check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    throw error instanceof ActionsNotIndexed ? refusal('UNAVAILABLE', error.message) : error;
  }
}

/** @throws UNAVAILABLE where too many texts would be looked at. */
async function countable<T>(count: () => Promise<T>): Promise<T> {
  try {
    return await count();
  } catch (error) {
    throw error instanceof SearchTooWide ? refusal('UNAVAILABLE', error.message) : error;
  }
}

async function searchable(db: Db, words: string, checkIndexed: () => Promise<void>): Promise<void> {
  try {
    await checkWords(db, words);
    await checkIndexed();
  } catch (error) {
    if (error instanceof UnsearchableText) throw refusal('BAD_USER_INPUT', error.message, { argument: 'filter.text' });
    if (error instanceof TextNotIndexed) throw refusal('UNAVAILABLE', error.message);
    throw error;
  }
}

/** Puts the records in place of their ids; one that is gone meanwhile leaves its place out. */
async function filled<Id, Item>(page: Page<Id>, load: (id: Id) => Promise<Item | null>): Promise<Page<Item>> {
  const rows = await Promise.all(page.rows.map(async ({ row, cursor }) => ({ row: await load(row), cursor })));
  return { ...page, rows: rows.flatMap(({ row, cursor }) => (row === null ? [] : [{ row, cursor }])) };
}
