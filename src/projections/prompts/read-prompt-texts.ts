import { sql } from 'kysely';
import type { AskedMessage } from '../../domain/prompts/asked-prompt.ts';
import type { DataOf } from '../../events/catalogue.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';

type StoredPart = DataOf<'PromptShown'>['messages'][number]['parts'][number];

export interface StoredMessage {
  readonly role: AskedMessage['role'];
  readonly parts: readonly StoredPart[];
  readonly toolCallId?: string;
  readonly name?: string;
}

/** Where a text lies: a block by its digest, or a field of a step. */
export type TextSource = string | Pick<Extract<StoredPart, { kind: 'step' }>, 'stepId' | 'field'>;

/**
 * Reads every text that messages refer to, by digest or `stepId field`, in two statements; texts that are not there are left out.
 */
export async function readPromptTexts(
  db: Db,
  prompts: readonly { readonly messages: readonly StoredMessage[] }[],
  resolve: (reference: BlobRef) => Promise<string>,
): Promise<ReadonlyMap<string, string>> {
  const parts = prompts.flatMap(({ messages }) => messages.flatMap((message) => message.parts));
  const blocks = new Set(parts.flatMap((part) => ('blocks' in part ? part.blocks : [])));
  const steps = new Set(parts.flatMap((part) => (part.kind === 'step' ? [part.stepId] : [])));
  const found = await sql<{ key: string; text: string; blob: BlobRef | null }>`
    select sha256 as key, text, blobs -> 'text' as blob from prompt_blocks where sha256 = any(${[...blocks]}::text[])
    union all
    select s.step_id || ' ' || f.field,
           case f.field when 'observation' then s.observation when 'response' then s.response else t.instruction end,
           case f.field when 'instruction' then t.blobs else s.blobs end -> f.field
    from steps s join trees t using (tree_id) cross join (values ('observation'), ('response'), ('instruction')) as f(field)
    where s.step_id = any(${[...steps]}::uuid[]) and (f.field <> 'instruction' or s.depth = 0)`.execute(db);
  const texts = new Map<string, string>();
  for (const { key, text, blob } of found.rows) texts.set(key, blob ? await resolve(blob) : text);
  return texts;
}
