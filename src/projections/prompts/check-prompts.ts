import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import type { OfTree } from '../of-tree.ts';
import { PromptUnreadable } from './prompt-unreadable.ts';
import { type PromptPayloads, readPrompts } from './read-prompts.ts';

/** A recorded prompt, and whether its record yields it. */
export interface CheckedPrompt {
  /** The step or the judgement that the reply became. */
  readonly id: string;
  /** The digest that was recorded when it was sent. */
  readonly sha256: string;
  /** Why the record does not come to it; null where it does. */
  readonly fault: string | null;
}

const PAGE = 1_000; // trees

/** Streams the trees that have a prompt, by their ids. */
export async function* treesWithPrompts(db: Db): AsyncGenerator<string> {
  let after = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    const { rows } = await sql<{ treeId: string }>`
      select distinct tree_id from prompts where tree_id > ${after}::uuid order by tree_id limit ${PAGE}`.execute(db);
    for (const { treeId } of rows) yield treeId;
    after = rows.at(-1)?.treeId ?? after;
    if (rows.length < PAGE) return;
  }
}

/**
 * Puts every prompt of a tree together again and compares its digest with the recorded one. A prompt that continues one which is
 * damaged has the fault of that one. Payloads that are missing from the blob store are faults as well.
 */
export async function checkPrompts(db: Db, treeId: string, payloads: PromptPayloads): Promise<readonly CheckedPrompt[]> {
  const rows = await rowsWhere(db, 'prompts', { treeId }, ['promptId as id', 'sha256'], ['logOffset']);
  const prompts = rows.map(({ id }) => ({ treeId, id }));
  if ((await faultOf(db, prompts, payloads)) === null) return rows.map((row) => ({ ...row, fault: null }));
  const checked: CheckedPrompt[] = [];
  for (const row of rows) checked.push({ ...row, fault: await faultOf(db, [{ treeId, id: row.id }], payloads) });
  return checked;
}

async function faultOf(db: Db, prompts: readonly OfTree[], payloads: PromptPayloads): Promise<string | null> {
  try {
    await readPrompts(db, prompts, payloads);
    return null;
  } catch (error) {
    if (error instanceof PromptUnreadable || isBlobDamage(error)) return error.message;
    throw error;
  }
}

function isBlobDamage(error: unknown): error is Error {
  return error instanceof Error && (error.name === 'BlobMissing' || error.name === 'BlobCorrupt');
}
