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
