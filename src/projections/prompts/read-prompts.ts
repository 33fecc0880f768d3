import { sql } from 'kysely';
import type { AskedMessage, AskedPart, Sampling } from '../../domain/prompts/asked-prompt.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { unpack } from '../../events/packed.ts';
import { promptDigest } from '../../events/prompt-digest.ts';
import type { BlobRef, Packed } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import { tokensAsJson } from '../step-tree/token-bytes.ts';
import { PromptUnreadable } from './prompt-unreadable.ts';
import { readPromptTexts, type StoredMessage, type TextSource } from './read-prompt-texts.ts';

/** The prompt that a policy or a judge was asked with, whole. */
export interface RecordedPrompt {
  /** The step that the reply became, or the judgement. */
  readonly stepId: string;
  readonly messages: readonly AskedMessage[];
  /** SHA-256 over the messages. */
  readonly sha256: string;
  readonly template: { readonly name: string; readonly version: number } | null;
  readonly tools: string | null;
  readonly sampling: Sampling;
  readonly server: string | null;
  /** The model as it was asked for; null where it is not recorded, or the policy names none. */
  readonly model: string | null;
  /** What came with the reply; null where the step is not in the read models. */
  readonly answer: PromptAnswer | null;
  /** Token ids of the prompt; null where the server returned none. */
  readonly tokenIds: Int32Array | null;
  /** How many of them the prompt of the step before and the reply to it begin with; null where either is not known. */
  readonly continues: { readonly before: number; readonly kept: number } | null;
  /** Those ids, then the ids of the reply: what the next prompt of the path continues; null where either is not known. */
  readonly following: Int32Array | null;
  /** SHA-256 of the blocks of its texts and of those of the prompts before it. */
  readonly blocks: readonly string[];
}

/** What came with the reply to a prompt. */
export interface PromptAnswer {
  readonly finishReason: string | null;
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
  readonly tokens: { readonly ids: Packed; readonly logProbs: Packed | null } | null;
  /** The request, by the hash of its body as it was sent, and the model as the server names it. */
  readonly call: ModelCall | null;
}

export type ModelCall = NonNullable<DataOf<'StepTaken'>['call']>;

/** Reads payloads of the blob store. */
export interface PromptPayloads {
  readonly text: (reference: BlobRef) => Promise<string>;
  readonly bytes: (reference: BlobRef) => Promise<Uint8Array>;
}

interface Row {
  /** The step or the judgement that the reply became. */
  readonly stepId: string;
  readonly baseId: string | null;
  readonly baseMessages: number;
  readonly messages: readonly StoredMessage[];
  readonly sha256: string;
  readonly template: string | null;
  readonly templateVersion: number | null;
  readonly tools: string | null;
  readonly sampling: Sampling;
  readonly server: string | null;
  readonly model: string | null;
  readonly kept: number | null;
  readonly tokens: Packed | null;
  readonly answer: PromptAnswer | null;
  /** The reply became a judgement: a request of its own, whose token ids continue none. */
  readonly judged: boolean;
  readonly blobs: Readonly<Record<string, BlobRef>> | null;
}

/**
 * Reads the prompts of steps and judgements, by their ids, each put together from those it continues, and compares its digest
 * with the recorded one. Those without a recorded prompt are left out.
 * @throws PromptUnreadable where texts or tokens are missing, or the digest differs.
 */
export async function readPrompts(
  db: Db,
  steps: readonly string[],
  payloads: PromptPayloads,
): Promise<ReadonlyMap<string, RecordedPrompt>> {
  if (steps.length === 0) return new Map();
  const rows = await readChains(db, steps);
  if (rows.length === 0) return new Map();
  const texts = await readPromptTexts(db, rows, payloads.text);
  const whole = new Map<string, RecordedPrompt>();
  for (const row of rows) {
    const base = row.baseId === null ? undefined : whole.get(row.baseId);
    if (row.baseId !== null && !base)
      throw new PromptUnreadable(row.stepId, `the prompt of step ${row.baseId}, which it continues, is not there`);
    const own = row.messages.map((message) => written(row.stepId, message, texts));
    const messages = [...(base?.messages.slice(0, row.baseMessages) ?? []), ...own];
    const found = promptDigest(messages);
    if (found !== row.sha256)
      throw new PromptUnreadable(row.stepId, `its messages have the digest ${found}, the recorded one is ${row.sha256}`);
    const tokenIds = row.tokens && (await tokensOf(row, base?.following ?? null, payloads));
    const sampled = row.answer?.tokens && tokenIds ? await unpacked(row.answer.tokens.ids, payloads) : null;
    const blocks = row.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'text' ? part.blocks : [])));
    whole.set(row.stepId, {
      ...{ stepId: row.stepId, messages, sha256: row.sha256, sampling: row.sampling, server: row.server, tokenIds },
      ...{ model: row.model, answer: row.answer },
      template: row.template === null ? null : { name: row.template, version: row.templateVersion ?? 1 },
      tools: row.blobs?.tools ? await payloads.text(row.blobs.tools) : row.tools,
      continues: base?.following && tokenIds && !row.judged ? { before: base.following.length, kept: row.kept ?? 0 } : null,
      blocks: [...(base?.blocks ?? []), ...blocks],
      following: tokenIds && sampled ? joined(tokenIds, sampled) : null,
    });
  }
  const asked = new Map<string, RecordedPrompt>();
  for (const stepId of steps) {
    const prompt = whole.get(stepId);
    if (prompt) asked.set(stepId, prompt);
  }
  return asked;
}

/** Reads the prompts and all that they continue, those first: a prompt comes behind its base in the log of its tree. */
async function readChains(db: Db, steps: readonly string[]): Promise<readonly Row[]> {
  const { rows } = await sql<Row>`
    with recursive chain as (
      select prompt_id, base_id from prompts where prompt_id = any(${[...steps]}::uuid[])
      union
      select p.prompt_id, p.base_id from chain c join prompts p on p.prompt_id = c.base_id
    )
    select p.prompt_id as step_id, p.base_id, p.base_messages, p.messages, p.sha256, p.template, p.template_version,
           p.tools, p.sampling, p.server, p.model, p.tokens_kept as kept, p.tokens, p.blobs,
           p.step_id is null as judged,
           case when s.step_id is null then p.answer else jsonb_build_object('finishReason', s.finish_reason, 'call', s.call,
             'usage', case when s.prompt_tokens is not null and s.completion_tokens is not null
               then jsonb_build_object('promptTokens', s.prompt_tokens, 'completionTokens', s.completion_tokens) end,
             'tokens', ${tokensAsJson('s')}) end as answer
    from chain join prompts p using (prompt_id) left join steps s on s.step_id = p.step_id
    order by p.tree_id, p.log_offset`.execute(db);
  return rows;
}

function written(stepId: string, { role, parts }: StoredMessage, texts: ReadonlyMap<string, string>): AskedMessage {
  return {
    role,
    parts: parts.map((part): AskedPart => {
      if (part.kind === 'image') return part;
      const sources: readonly TextSource[] = part.kind === 'step' ? [part] : part.blocks;
      return { kind: 'text', text: sources.map((source) => textOf(stepId, source, texts)).join('') };
    }),
  };
}

function textOf(stepId: string, source: TextSource, texts: ReadonlyMap<string, string>): string {
  const key = typeof source === 'string' ? source : `${source.stepId} ${source.field}`;
  const text = texts.get(key);
  if (text === undefined)
    throw new PromptUnreadable(stepId, `the text ${key} is not in the read models; rebuild step-tree and prompts`);
  return text;
}

async function tokensOf({ stepId, kept, tokens }: Row, before: Int32Array | null, payloads: PromptPayloads): Promise<Int32Array> {
  const own = tokens ? await unpacked(tokens, payloads) : new Int32Array();
  if (!kept) return own;
  if (!before || before.length < kept)
    throw new PromptUnreadable(stepId, `it keeps ${kept} token ids of the prompt before, which has ${before?.length ?? 'none'}`);
  return joined(before.subarray(0, kept), own);
}

async function unpacked(array: Packed, { bytes }: PromptPayloads): Promise<Int32Array> {
  const payload = typeof array.bytes === 'string' ? undefined : await bytes(array.bytes);
  return Int32Array.from(unpack(array, payload));
}

function joined(a: Int32Array, b: Int32Array): Int32Array {
  const both = new Int32Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/** Counts the messages of the prompts of steps, without reading them. */
export async function countPromptMessages(db: Db, steps: readonly string[]): Promise<number> {
  const { rows } = await sql<{ messages: number }>`
    select coalesce(sum(length), 0)::int as messages from prompts where prompt_id = any(${[...steps]}::uuid[])`.execute(db);
  return rows[0]?.messages ?? 0;
}
