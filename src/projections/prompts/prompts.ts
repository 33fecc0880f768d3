import { sql } from 'kysely';
import { isStructured } from '../../domain/prompts/same-message.ts';
import type { DataOf, EventType } from '../../events/catalogue.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { blockDigest } from '../../events/prompt-digest.ts';
import type { Text } from '../../events/schemas/values.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { keyInTree, keyOf, type OfTree, pairsOf } from '../of-tree.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

const HANDLES: readonly EventType[] = ['PromptShown'];

/**
 * Folds the prompts that policies were asked with. A prompt continues an earlier one of its tree (else quarantine), and the first
 * that a step was asked with is the fact. Blocks are keyed by their digest, so all prompts share them.
 */
export const prompts: Projection = { name: 'prompts', version: 2, handles: HANDLES, project };

interface Known {
  readonly length: number;
  readonly withImages: boolean;
  readonly structured: boolean;
  readonly tokens: number | null;
}

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const known = await knownPrompts(batch, trx);
  const blocks = new Map<string, ReturnType<typeof blockRow>>();
  const rows: ReturnType<typeof promptRow>[] = [];
  const poison: Poison[] = [];
  for (const delivery of batch) {
    if (!isOf(delivery, 'PromptShown')) continue;
    const refused = fold(delivery, known, rows);
    if (refused) poison.push({ delivery, ...refused });
    else if (!delivery.event.sealed)
      // of a forgotten prompt no block is left
      for (const block of delivery.event.data.blocks) {
        const digest = typeof block === 'string' ? blockDigest(block) : block.blob;
        if (!blocks.has(digest)) blocks.set(digest, blockRow(digest, block));
      }
  }
  await insertRows(trx, tables.promptBlocks, [...blocks.values()]);
  await insertRows(trx, tables.prompts, rows);
  return poison;
}

function fold(
  delivery: Delivery<Envelope<'PromptShown'>>,
  known: Map<string, Known>,
  rows: ReturnType<typeof promptRow>[],
): Omit<Poison, 'delivery'> | undefined {
  const { treeId, base, messages, tokens } = delivery.event.data;
  const key = keyInTree(treeId, promptIdOf(delivery.event.data));
  if (known.has(key)) return undefined;
  const continued = base ? known.get(keyInTree(treeId, base.stepId)) : undefined;
  if (base && !continued) {
    const reason = `tree ${treeId} has no prompt of step ${base.stepId}; append its PromptShown first, then requeue this event`;
    return { code: 'missing-prompt', field: 'data.base.stepId', reason };
  }
  if (base && base.messages > (continued?.length ?? 0)) {
    const reason = `the prompt of step ${base.stepId} has ${continued?.length} messages, not ${base.messages}`;
    return { code: 'range', field: 'data.base.messages', reason };
  }
  if (tokens && (tokens.keep > tokens.before || (tokens.keep > 0 && !continued?.tokens))) {
    const reason = `${tokens.keep} token ids are kept, where the prompt before and its reply have ${continued?.tokens ? tokens.before : 0}`;
    return { code: 'range', field: 'data.tokens.keep', reason };
  }
  const length = (base?.messages ?? 0) + messages.length;
  const own = messages.some(({ parts }) => parts.some(({ kind }) => kind === 'image'));
  const withImages = own || ((base?.messages ?? 0) > 0 && (continued?.withImages ?? false));
  const structured = messages.some(isStructured) || ((base?.messages ?? 0) > 0 && (continued?.structured ?? false));
  known.set(key, { length, withImages, structured, tokens: tokens && tokens.keep + tokens.ids.length });
  rows.push(promptRow(delivery, { length, withImages, structured }));
  return undefined;
}

/** Reads the prompts that a batch names, by `keyInTree`. */
async function knownPrompts(batch: readonly Delivery[], trx: Trx): Promise<Map<string, Known>> {
  const named = batch.flatMap((delivery) => {
    if (!isOf(delivery, 'PromptShown')) return [];
    const { treeId, base } = delivery.event.data;
    const own = { treeId, id: promptIdOf(delivery.event.data) };
    return base ? [own, { treeId, id: base.stepId }] : [own];
  });
  if (named.length === 0) return new Map();
  const { rows } = await sql<Known & OfTree>`
    select p.* from ${pairsOf(named)} w cross join lateral (
      select tree_id, prompt_id as id, length, with_images, structured, token_count as tokens from prompts
      where prompt_id = w.id and tree_id = w.tree_id offset 0) p`.execute(trx);
  return new Map(rows.map((row) => [keyOf(row), row]));
}

/** The rows that prompts become. */

/** What a prompt is known by: the judgement that the reply to it became, else the step. */
function promptIdOf({ judgementId, stepId }: Pick<DataOf<'PromptShown'>, 'judgementId' | 'stepId'>): string {
  return judgementId ?? stepId;
}

function promptRow(
  { event, offset }: Delivery<Envelope<'PromptShown'>>,
  { length, withImages, structured }: { readonly length: number; readonly withImages: boolean; readonly structured: boolean },
): Row<typeof tables.prompts> {
  const { data, correlationId, occurredAt } = event;
  const { base, template, tools, tokens } = data;
  return {
    promptId: promptIdOf(data),
    stepId: data.judgementId === undefined ? data.stepId : null,
    treeId: data.treeId,
    runId: correlationId,
    sha256: data.sha256,
    length,
    withImages,
    structured,
    baseId: base?.stepId ?? null,
    baseMessages: base?.messages ?? 0,
    messages: data.messages,
    template: template?.name ?? null,
    templateVersion: template?.version ?? null,
    tools: typeof tools === 'string' ? tools : null,
    sampling: data.sampling,
    server: data.server,
    model: data.model ?? null,
    answer: data.answer ?? null,
    tokensBefore: tokens?.before ?? null,
    tokensKept: tokens?.keep ?? null,
    tokens: tokens?.ids ?? null,
    tokenCount: tokens && tokens.keep + tokens.ids.length,
    drifted: data.judgementId === undefined && base !== null && tokens !== null && tokens.keep < tokens.before,
    logOffset: offset,
    shownAt: occurredAt,
    blobs: tools === null || typeof tools === 'string' ? null : { tools },
  };
}

function blockRow(sha256: string, block: Text): Row<typeof tables.promptBlocks> {
  return typeof block === 'string' ? { sha256, text: block, blobs: null } : { sha256, text: '', blobs: { text: block } };
}
