import { type RawBuilder, sql } from 'kysely';
import type { AskedMessage, AskedPart, Sampling } from '../../domain/prompts/asked-prompt.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { unpackIds } from '../../events/packed.ts';
import { promptDigest } from '../../events/prompt-digest.ts';
import type { BlobRef, Packed } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { readTokenBytes } from '../step-tree/read-token-bytes.ts';
import { type RecordedTokens, tokensAsJson } from '../step-tree/token-bytes.ts';
import { PromptUnreadable } from './prompt-unreadable.ts';
import { readPromptTexts, type StoredMessage, type TextSource } from './read-prompt-texts.ts';

/** The prompt that a policy or a judge was asked with, whole. */
export interface ShownPrompt {
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
  /** Token ids of the prompt; null where the server returned none. */
  readonly tokenIds: Int32Array | null;
  /** How many of them the prompt of the step before and the reply to it begin with; null where either is not known. */
  readonly continues: { readonly before: number; readonly kept: number } | null;
  /** SHA-256 of the blocks of its texts and of those of the prompts before it. */
  readonly blocks: readonly string[];
}

/** A prompt with what came back. */
export interface RecordedPrompt extends ShownPrompt {
  /** What came with the reply; null where the step is not in the read models. */
  readonly answer: PromptAnswer | null;
  /** Its token ids, then the ids of the reply: what the next prompt of the path continues; null where either is not known. */
  readonly following: Int32Array | null;
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

interface ShownRow {
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
  /** The reply became a judgement: a request of its own, whose token ids continue none. */
  readonly judged: boolean;
  readonly blobs: Readonly<Record<string, BlobRef>> | null;
}

interface RecordedRow extends ShownRow {
  readonly answer: PromptAnswer | null;
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
  // A look-up for each prompt: in a join of both the token arrays of every step would become JSON before it is known which
  // match.
  const rows = await readChains<RecordedRow>(
    db,
    steps,
    sql`coalesce(s.answer, p.answer) as answer`,
    sql`left join lateral (select jsonb_build_object('finishReason', finish_reason, 'call', call, 'tokens', ${tokensAsJson('steps')},
      'usage', case when prompt_tokens is not null and completion_tokens is not null
        then jsonb_build_object('promptTokens', prompt_tokens, 'completionTokens', completion_tokens) end) as answer
      from steps where step_id = p.step_id offset 0) s on true`,
  );
  const whole = await putTogether(db, rows, payloads, async ({ answer }) =>
    answer?.tokens ? unpacked(answer.tokens.ids, payloads) : null,
  );
  const asked = new Map<string, RecordedPrompt>();
  const answered = new Map(rows.map(({ stepId, answer }) => [stepId, answer]));
  for (const stepId of steps) {
    const prompt = whole.get(stepId);
    if (prompt) asked.set(stepId, { ...prompt.shown, answer: answered.get(stepId) ?? null, following: await prompt.following() });
  }
  return asked;
}

/** Reads the same without what came back: of the tokens of replies those alone that a prompt of these steps continues. */
export async function readShownPrompts(
  db: Db,
  steps: readonly string[],
  payloads: PromptPayloads,
): Promise<ReadonlyMap<string, ShownPrompt>> {
  if (steps.length === 0) return new Map();
  const rows = await readChains<ShownRow & Judged>(db, steps, sql`p.answer -> 'tokens' -> 'ids' as ids`, sql``);
  const bases = [...new Set(rows.flatMap(({ baseId }) => (baseId === null ? [] : [baseId])))];
  const asBytes = await readTokenBytes(db, bases);
  const asJson = await readTokenIds(
    db,
    bases.filter((step) => !asBytes.has(step)),
  );
  const whole = await putTogether(db, rows, payloads, async ({ stepId, ids }) => {
    const packed = asJson.get(stepId) ?? ids;
    return asBytes.get(stepId)?.ids ?? (packed ? unpacked(packed, payloads) : null);
  });
  return new Map(
    steps.flatMap((stepId) => {
      const prompt = whole.get(stepId);
      return prompt ? [[stepId, prompt.shown] as const] : [];
    }),
  );
}

/** Where the reply became a judgement, its token ids lie with the prompt. */
interface Judged {
  readonly ids: Packed | null;
}

/** Reads the token ids of steps that keep them as JSON. */
async function readTokenIds(db: Db, steps: readonly string[]): Promise<ReadonlyMap<string, Packed>> {
  if (steps.length === 0) return new Map();
  const rows = await rowsWhere(db, 'steps', { stepId: [...steps] }, ['stepId', 'tokenJson']);
  const idsOf = (tokens: unknown) => (tokens as Pick<RecordedTokens, 'ids'> | null)?.ids; // as the event's schema let it in
  return new Map(
    rows.flatMap(({ stepId, tokenJson }) => {
      const ids = idsOf(tokenJson);
      return ids ? [[stepId, ids] as const] : [];
    }),
  );
}

interface Whole {
  readonly shown: ShownPrompt;
  /** Its token ids and those of the reply; null where either is not known. */
  readonly following: () => Promise<Int32Array | null>;
}

/** Puts prompts together, those that others continue first. @param sampledBy the token ids of the reply to a prompt. */
async function putTogether<Row extends ShownRow>(
  db: Db,
  rows: readonly Row[],
  payloads: PromptPayloads,
  sampledBy: (row: Row) => Promise<Int32Array | null>,
): Promise<ReadonlyMap<string, Whole>> {
  const whole = new Map<string, Whole>();
  if (rows.length === 0) return whole;
  const texts = await readPromptTexts(db, rows, payloads.text);
  for (const row of rows) {
    const base = row.baseId === null ? undefined : whole.get(row.baseId);
    if (row.baseId !== null && !base)
      throw new PromptUnreadable(row.stepId, `the prompt of step ${row.baseId}, which it continues, is not there`);
    const own = row.messages.map((message) => written(row.stepId, message, texts));
    const messages = [...(base?.shown.messages.slice(0, row.baseMessages) ?? []), ...own];
    const found = promptDigest(messages);
    if (found !== row.sha256)
      throw new PromptUnreadable(row.stepId, `its messages have the digest ${found}, the recorded one is ${row.sha256}`);
    const before = row.tokens && base ? await base.following() : null;
    const tokenIds = row.tokens && (await tokensOf(row, before, payloads));
    const blocks = row.messages.flatMap(({ parts }) => parts.flatMap((part) => ('blocks' in part ? part.blocks : [])));
    const { stepId, sha256, sampling, server, model } = row;
    let following: Promise<Int32Array | null> | undefined;
    whole.set(stepId, {
      shown: {
        stepId,
        messages,
        sha256,
        sampling,
        server,
        model,
        tokenIds,
        template: row.template === null ? null : { name: row.template, version: row.templateVersion ?? 1 },
        tools: row.blobs?.tools ? await payloads.text(row.blobs.tools) : row.tools,
        continues: before && !row.judged ? { before: before.length, kept: row.kept ?? 0 } : null,
        blocks: [...(base?.shown.blocks ?? []), ...blocks],
      },
      following: () => {
        following ??= followed(tokenIds, () => sampledBy(row));
        return following;
      },
    });
  }
  return whole;
}

async function followed(tokenIds: Int32Array | null, sampledBy: () => Promise<Int32Array | null>): Promise<Int32Array | null> {
  const sampled = tokenIds && (await sampledBy());
  return tokenIds && sampled ? joined(tokenIds, sampled) : null;
}

/**
 * Reads the prompts and all that they continue, those first: a prompt comes behind its base in the log of its tree. Look-ups by
 * the index, whatever the planner expects: it takes a chain for a hundred times as long as it is, and would read whole tables.
 */
async function readChains<Row extends ShownRow>(
  db: Db,
  steps: readonly string[],
  besides: RawBuilder<unknown>,
  answers: RawBuilder<unknown>,
): Promise<readonly Row[]> {
  const { rows } = await sql<Row>`
    with recursive chain as (
      select prompt_id, base_id from prompts where prompt_id = any(${[...steps]}::uuid[])
      union
      select b.prompt_id, b.base_id from chain c
        cross join lateral (select prompt_id, base_id from prompts where prompt_id = c.base_id offset 0) b
    )
    select p.prompt_id as step_id, p.base_id, p.base_messages, p.messages, p.sha256, p.template, p.template_version,
           p.tools, p.sampling, p.server, p.model, p.tokens_kept as kept, p.tokens, p.blobs,
           p.step_id is null as judged, ${besides}
    from chain cross join lateral (select prompts.* from prompts where prompt_id = chain.prompt_id offset 0) p ${answers}
    order by p.tree_id, p.log_offset`.execute(db);
  return rows;
}

function written(stepId: string, { parts, ...message }: StoredMessage, texts: ReadonlyMap<string, string>): AskedMessage {
  const text = (sources: readonly TextSource[]) => sources.map((source) => textOf(stepId, source, texts)).join('');
  return {
    ...message,
    parts: parts.map((part): AskedPart => {
      switch (part.kind) {
        case 'image':
          return part;
        case 'step':
          return { kind: 'text', text: text([part]) };
        case 'text':
        case 'reasoning':
          return { kind: part.kind, text: text(part.blocks) };
        case 'tool-call':
          return { kind: 'tool-call', id: part.id, name: part.name, arguments: text(part.blocks) };
        default:
          return part satisfies never;
      }
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

async function tokensOf(
  { stepId, kept, tokens }: ShownRow,
  before: Int32Array | null,
  payloads: PromptPayloads,
): Promise<Int32Array> {
  const own = tokens ? await unpacked(tokens, payloads) : new Int32Array();
  if (!kept) return own;
  if (!before || before.length < kept)
    throw new PromptUnreadable(stepId, `it keeps ${kept} token ids of the prompt before, which has ${before?.length ?? 'none'}`);
  return joined(before.subarray(0, kept), own);
}

async function unpacked(array: Packed, { bytes }: PromptPayloads): Promise<Int32Array> {
  const payload = typeof array.bytes === 'string' ? undefined : await bytes(array.bytes);
  return unpackIds(array, payload);
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
