import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { countEach, countUpTo, type Page, type PageRequest, readPage, type UpTo } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { ToolCallRecord } from '../step-tree/read-tool-calls.ts';
import { callsMatching } from './text-query.ts';
import { type OfTrees, treesOf } from './trees-of.ts';

/** What calls of tools are chosen by; a part that is left out chooses all. Ranges are [from, until). */
export interface ToolCallFilter extends OfTrees {
  readonly tool?: string;
  readonly outcome?: string;
  readonly stepId?: string;
  /** Words of the arguments and the output, as `websearch_to_tsquery` reads them. */
  readonly text?: string;
  readonly durationFrom?: number;
  readonly durationUntil?: number;
}

const CALL = { column: 'toolCalls.toolCallId', type: 'uuid' } as const;
const TREE = { column: 'toolCalls.treeId', type: 'uuid' } as const;
const DURATION = [{ column: 'toolCalls.durationMs', type: 'float' }, CALL, TREE] as const;
export const TOOL_CALL_ORDERINGS = {
  TREE: { name: 'tool-calls/TREE', direction: 'asc', keys: [TREE, CALL] },
  DURATION_ASC: { name: 'tool-calls/DURATION_ASC', direction: 'asc', keys: DURATION },
  DURATION_DESC: { name: 'tool-calls/DURATION_DESC', direction: 'desc', keys: DURATION },
} as const satisfies Record<string, Ordering>;

/** Reads one page of tool calls. @throws InvalidCursor. */
export async function readChosenToolCalls(
  db: Db,
  filter: ToolCallFilter,
  ordering: Ordering,
  page: PageRequest,
): Promise<Page<ToolCallRecord>> {
  const columns = [
    'toolCalls.toolCallId as id',
    'toolCalls.treeId',
    'toolCalls.stepId',
    'toolCalls.ordinal',
    'toolCalls.tool',
    'toolCalls.arguments',
    'toolCalls.output',
    'toolCalls.outcome',
    'toolCalls.durationMs',
    'toolCalls.blobs',
  ] as const;
  return readPage(db, chosen(db, filter).select(columns), ordering, page);
}

/** Counts the tool calls of a filter. */
export async function countChosenToolCalls(db: Db, filter: ToolCallFilter): Promise<number> {
  const [count = 0] = await countEach(db, [chosen(db, filter)]);
  return count;
}

/** Counts the tool calls of a filter up to a number. */
export function countToolCallsUpTo(db: Db, filter: ToolCallFilter, upTo: number): Promise<UpTo> {
  return countUpTo(db, chosen(db, filter), TOOL_CALL_ORDERINGS.TREE, upTo);
}

function chosen(db: Db, filter: ToolCallFilter) {
  let query = db.selectFrom('toolCalls');
  for (const condition of conditions(filter)) query = query.where(sql<boolean>`${condition}`);
  return query;
}

function conditions(filter: ToolCallFilter): RawBuilder<unknown>[] {
  const all: RawBuilder<unknown>[] = [];
  const trees = treesOf('toolCalls.treeId', filter);
  if (trees) all.push(trees);
  if (filter.stepId !== undefined)
    all.push(sql`tool_calls.step_id = ${filter.stepId}::uuid
      and tool_calls.tree_id in (select s.tree_id from steps s where s.step_id = ${filter.stepId}::uuid)`);
  if (filter.tool !== undefined) all.push(sql`tool_calls.tool = ${filter.tool}`);
  if (filter.outcome !== undefined) all.push(sql`tool_calls.outcome = ${filter.outcome}`);
  if (filter.text !== undefined) all.push(callsMatching('toolCalls', filter.text));
  if (filter.durationFrom !== undefined) all.push(sql`tool_calls.duration_ms >= ${filter.durationFrom}`);
  if (filter.durationUntil !== undefined) all.push(sql`tool_calls.duration_ms < ${filter.durationUntil}`);
  return all;
}
