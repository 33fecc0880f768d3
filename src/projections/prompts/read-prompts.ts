import { type RawBuilder, sql } from 'kysely';
import type { PolicyMessage, PolicyMessagePart, Sampling } from '../../domain/prompts/policy-prompt.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { unpackIds } from '../../events/packed.ts';
import { promptDigest } from '../../events/prompt-digest.ts';
import type { BlobRef, Packed } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import { keyInTree, type OfTree, pairsOf } from '../of-tree.ts';
import { readTokenBytes } from '../step-tree/read-token-bytes.ts';
import { type RecordedTokens, tokensAsJson } from '../step-tree/token-bytes.ts';
import { PromptUnreadable } from './prompt-unreadable.ts';
import { keyOfText, readPromptTexts, type StoredMessage, type TextSource } from './read-prompt-texts.ts';

/** The prompt that a policy or a judge was asked with, whole. */
export interface StoredPrompt {
  readonly treeId: string;
  /** The step that the reply became, or the judgement. */
  readonly stepId: string;
  readonly messages: readonly PolicyMessage[];
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
export interface RecordedPrompt extends StoredPrompt {
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
  readonly treeId: string;
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
 * Reads the prompts of steps and judgements, by `keyInTree`, each put together from those it continues, and compares its digest
 * with the recorded one. Those without a recorded prompt are left out.
 * @throws PromptUnreadable where texts or tokens are missing, or the digest differs.
 */
export async function readPrompts(
  db: Db,
  wanted: readonly OfTree[],
  payloads: PromptPayloads,
): Promise<ReadonlyMap<string, RecordedPrompt>> {
  if (wanted.length === 0) return new Map();
  // A look-up for each prompt: in a join of both the token arrays of every step would become JSON before it is known which
  // match.
  const rows = await readChains<RecordedRow>(
    db,
    wanted,
    sql`coalesce(s.answer, p.answer) as answer`,
    sql`left join lateral (select jsonb_build_object('finishReason', finish_reason, 'call', call, 'tokens', ${tokensAsJson('steps')},
      'usage', case when prompt_tokens is not null and completion_tokens is not null
        then jsonb_build_object('promptTokens', prompt_tokens, 'completionTokens', completion_tokens) end) as answer
      from steps where step_id = p.step_id and tree_id = p.tree_id offset 0) s on true`,
  );
  const whole = await putTogether(db, rows, payloads, async ({ answer }) =>
    answer?.tokens ? unpacked(answer.tokens.ids, payloads) : null,
  );
  const asked = new Map<string, RecordedPrompt>();
  const answered = new Map(rows.map(({ treeId, stepId, answer }) => [keyInTree(treeId, stepId), answer]));
  for (const { treeId, id } of wanted) {
    const key = keyInTree(treeId, id);
    const prompt = whole.get(key);
    if (prompt) asked.set(key, { ...prompt.shown, answer: answered.get(key) ?? null, following: await prompt.following() });
  }
  return asked;
}

/** Reads the same without what came back: of the tokens of replies those alone that a prompt of these steps continues. */
export async function readShownPrompts(
  db: Db,
  wanted: readonly OfTree[],
  payloads: PromptPayloads,
): Promise<ReadonlyMap<string, StoredPrompt>> {
  if (wanted.length === 0) return new Map();
  const rows = await readChains<ShownRow & Judged>(db, wanted, sql`p.answer -> 'tokens' -> 'ids' as ids`, sql``);
  const bases = new Map<string, OfTree>();
  for (const { treeId, baseId } of rows) if (baseId !== null) bases.set(keyInTree(treeId, baseId), { treeId, id: baseId });
  const asBytes = await readTokenBytes(db, [...bases.values()]);
  const asJson = await readTokenIds(
    db,
    [...bases].flatMap(([key, step]) => (asBytes.has(key) ? [] : [step])),
  );
  const whole = await putTogether(db, rows, payloads, async ({ treeId, stepId, ids }) => {
    const key = keyInTree(treeId, stepId);
    const packed = asJson.get(key) ?? ids;
    return asBytes.get(key)?.ids ?? (packed ? unpacked(packed, payloads) : null);
  });
  return new Map(
    wanted.flatMap(({ treeId, id }) => {
      const prompt = whole.get(keyInTree(treeId, id));
      return prompt ? [[keyInTree(treeId, id), prompt.shown] as const] : [];
    }),
  );
}

/** Where the reply became a judgement, its token ids lie with the prompt. */
interface Judged {
  readonly ids: Packed | null;
}

/** Reads the token ids of steps that keep them as JSON, by `keyInTree`. */
async function readTokenIds(db: Db, steps: readonly OfTree[]): Promise<ReadonlyMap<string, Packed>> {
  if (steps.length === 0) return new Map();
  const { rows } = await sql<OfTree & { readonly tokenJson: unknown }>`
    select s.tree_id, s.step_id as id, s.token_json
    from ${pairsOf(steps)} w join steps s on s.step_id = w.id and s.tree_id = w.tree_id`.execute(db);
  const idsOf = (tokens: unknown) => (tokens as Pick<RecordedTokens, 'ids'> | null)?.ids; // as the event's schema let it in
  return new Map(
    rows.flatMap(({ treeId, id, tokenJson }) => {
      const ids = idsOf(tokenJson);
      return ids ? [[keyInTree(treeId, id), ids] as const] : [];
    }),
  );
}

interface Whole {
  readonly shown: StoredPrompt;
  /** Its token ids and those of the reply; null where either is not known. */
  readonly following: () => Promise<Int32Array | null>;
}

/** Puts prompts together, those that others continue first, by `keyInTree`. @param sampledBy the token ids of the reply to a prompt. */
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
    const base = row.baseId === null ? undefined : whole.get(keyInTree(row.treeId, row.baseId));
    if (row.baseId !== null && !base)
      throw new PromptUnreadable(row.stepId, `the prompt of step ${row.baseId}, which it continues, is not there`);
    const own = row.messages.map((message) => written(row, message, texts));
    const messages = [...(base?.shown.messages.slice(0, row.baseMessages) ?? []), ...own];
    const found = promptDigest(messages);
    if (found !== row.sha256)
      throw new PromptUnreadable(row.stepId, `its messages have the digest ${found}, the recorded one is ${row.sha256}`);
    const before = row.tokens && base ? await base.following() : null;
    const tokenIds = row.tokens && (await tokensOf(row, before, payloads));
    const blocks = row.messages.flatMap(({ parts }) => parts.flatMap((part) => ('blocks' in part ? part.blocks : [])));
    const { treeId, stepId, sha256, sampling, server, model } = row;
    let following: Promise<Int32Array | null> | undefined;
    whole.set(keyInTree(treeId, stepId), {
      shown: {
        treeId,
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
  wanted: readonly OfTree[],
  besides: RawBuilder<unknown>,
  answers: RawBuilder<unknown>,
): Promise<readonly Row[]> {
  const { rows } = await sql<Row>`
    with recursive chain as (
      select p.tree_id, p.prompt_id, p.base_id from ${pairsOf(wanted)} w
        join prompts p on p.prompt_id = w.id and p.tree_id = w.tree_id
      union
      select c.tree_id, b.prompt_id, b.base_id from chain c cross join lateral (
        select prompt_id, base_id from prompts where prompt_id = c.base_id and tree_id = c.tree_id offset 0) b
    )
    select p.tree_id, p.prompt_id as step_id, p.base_id, p.base_messages, p.messages, p.sha256, p.template, p.template_version,
           p.tools, p.sampling, p.server, p.model, p.tokens_kept as kept, p.tokens, p.blobs,
           p.step_id is null as judged, ${besides}
    from chain cross join lateral (
      select prompts.* from prompts where prompt_id = chain.prompt_id and tree_id = chain.tree_id offset 0) p ${answers}
    order by p.tree_id, p.log_offset`.execute(db);
  return rows;
}

function written(prompt: ShownRow, { parts, ...message }: StoredMessage, texts: ReadonlyMap<string, string>): PolicyMessage {
  const text = (sources: readonly TextSource[]) => sources.map((source) => textOf(prompt, source, texts)).join('');
  return {
    ...message,
    parts: parts.map((part): PolicyMessagePart => {
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

function textOf({ treeId, stepId }: ShownRow, source: TextSource, texts: ReadonlyMap<string, string>): string {
  const key = keyOfText(treeId, source);
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

/** Returns those among prompts that are recorded. */
export async function readPromptsRecorded(db: Db, wanted: readonly OfTree[]): Promise<readonly OfTree[]> {
  const { rows } = await sql<OfTree>`
    select p.tree_id, p.prompt_id as id
    from ${pairsOf(wanted)} w join prompts p on p.prompt_id = w.id and p.tree_id = w.tree_id`.execute(db);
  return rows;
}

/** Counts the messages of the prompts of steps, without reading them. */
export async function countPromptMessages(db: Db, wanted: readonly OfTree[]): Promise<number> {
  const { rows } = await sql<{ messages: number }>`
    select coalesce(sum(p.length), 0)::int as messages
    from ${pairsOf(wanted)} w join prompts p on p.prompt_id = w.id and p.tree_id = w.tree_id`.execute(db);
  return rows[0]?.messages ?? 0;
}
