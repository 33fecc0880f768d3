import { sql } from 'kysely';
import type { PolicyMessage } from '../../domain/prompts/policy-prompt.ts';
import type { DataOf } from '../../events/catalogue.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import { keyInTree, type OfTree, pairsOf } from '../of-tree.ts';

type StoredPart = DataOf<'PromptShown'>['messages'][number]['parts'][number];

export interface StoredMessage {
  readonly role: PolicyMessage['role'];
  readonly parts: readonly StoredPart[];
  readonly toolCallId?: string;
  readonly name?: string;
}

/** Where a text is stored: a block by its digest, or a field of a step of the prompt's tree. */
export type TextSource = string | Pick<Extract<StoredPart, { kind: 'step' }>, 'stepId' | 'field'>;

/** Returns the key of a text that a prompt of a tree refers to. */
export function keyOfText(treeId: string, source: TextSource): string {
  return typeof source === 'string' ? source : `${keyInTree(treeId, source.stepId)} ${source.field}`;
}

/**
 * Reads every text that messages refer to, by `keyOfText`, in two statements; texts that are not there are left out.
 */
export async function readPromptTexts(
  db: Db,
  prompts: readonly { readonly treeId: string; readonly messages: readonly StoredMessage[] }[],
  resolve: (reference: BlobRef) => Promise<string>,
): Promise<ReadonlyMap<string, string>> {
  const blocks = new Set<string>();
  const steps = new Map<string, OfTree>();
  for (const { treeId, messages } of prompts)
    for (const part of messages.flatMap(({ parts }) => parts)) {
      if (part.kind === 'step') steps.set(keyInTree(treeId, part.stepId), { treeId, id: part.stepId });
      for (const block of 'blocks' in part ? part.blocks : []) blocks.add(block);
    }
  const found = await sql<{ key: string; text: string; blob: BlobRef | null }>`
    select sha256 as key, text, blobs -> 'text' as blob from prompt_blocks where sha256 = any(${[...blocks]}::text[])
    union all
    select s.tree_id || ' ' || s.step_id || ' ' || f.field,
           case f.field when 'observation' then s.observation when 'response' then s.response else t.instruction end,
           case f.field when 'instruction' then t.blobs else s.blobs end -> f.field
    from ${pairsOf([...steps.values()])} w join steps s on s.step_id = w.id and s.tree_id = w.tree_id
    join trees t on t.tree_id = s.tree_id cross join (values ('observation'), ('response'), ('instruction')) as f(field)
    where f.field <> 'instruction' or s.depth = 0`.execute(db);
  const texts = new Map<string, string>();
  for (const { key, text, blob } of found.rows) texts.set(key, blob ? await resolve(blob) : text);
  return texts;
}
