import type { Selectable } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';

/** Texts are '' where `blobs` names their field: they are in the blob store. */
export interface ToolCallRecord extends Omit<Selectable<Tables['toolCalls']>, 'toolCallId'> {
  readonly id: string;
}

/** Reads the tool calls of steps, in their order. The trees of the steps narrow the search: `tool_calls` is indexed by tree. */
export async function readToolCalls(
  db: Db,
  trees: readonly string[],
  steps: readonly string[],
): Promise<readonly ToolCallRecord[]> {
  const order = ['stepId', 'ordinal', 'toolCallId'] as const;
  const rows = await wholeRowsWhere(db, 'toolCalls', { treeId: trees, stepId: steps }, order);
  return rows.map(({ toolCallId, ...row }) => ({ id: toolCallId, ...row }));
}

/** Texts are '' where `blobs` names their field: they are in the blob store. */
export interface DivergenceRecord extends Omit<Selectable<Tables['divergences']>, 'eventId'> {
  readonly id: string;
}

/** Reads what replays of trees showed instead of what was recorded, oldest first. */
export async function readDivergences(db: Db, trees: readonly string[]): Promise<readonly DivergenceRecord[]> {
  const rows = await wholeRowsWhere(db, 'divergences', { treeId: trees }, ['occurredAt', 'eventId']);
  return rows.map(({ eventId, ...row }) => ({ id: eventId, ...row }));
}
