import { sql } from 'kysely';
import type { Blobs } from '../../postgres/column-types.ts';
import type { Db } from '../../postgres/database.ts';

export interface ToolCallRecord {
  readonly id: string;
  readonly treeId: string;
  readonly stepId: string;
  readonly ordinal: number;
  readonly tool: string;
  /** Texts are '' where `blobs` names their field: they lie in the blob store. */
  readonly arguments: string;
  readonly output: string;
  readonly outcome: string;
  readonly durationMs: number;
  readonly blobs: Blobs | null;
}

/** Reads the tool calls of steps, in their order. The trees of the steps narrow the search: `tool_calls` is indexed by tree. */
export async function readToolCalls(
  db: Db,
  trees: readonly string[],
  steps: readonly string[],
): Promise<readonly ToolCallRecord[]> {
  const { rows } = await sql<ToolCallRecord>`
    select tool_call_id as id, tree_id, step_id, ordinal, tool, arguments, output, outcome,
           duration_ms, blobs
    from tool_calls
    where tree_id = any(${[...trees]}::uuid[]) and step_id = any(${[...steps]}::uuid[])
    order by step_id, ordinal, tool_call_id`.execute(db);
  return rows;
}
