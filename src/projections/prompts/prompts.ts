import { isStructured } from '../../domain/prompts/same-message.ts';
import type { EventType } from '../../events/catalogue.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { blockDigest } from '../../events/prompt-digest.ts';
import { insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { blockRow, promptIdOf, promptRow } from './rows.ts';
import { tables } from './tables.ts';

const HANDLES: readonly EventType[] = ['PromptShown'];

/**
 * Folds the prompts that policies were asked with. A prompt continues an earlier one of its tree (else quarantine), and the first
 * that a step was asked with is the fact. Blocks are keyed by their digest, so all prompts share them.
 */
export const prompts: Projection = { name: 'prompts', version: 1, handles: HANDLES, project };

interface Known {
  readonly treeId: string;
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
  const { treeId, base, messages, tokens, judgementId } = delivery.event.data;
  const id = promptIdOf(delivery.event.data);
  const before = known.get(id);
  if (before?.treeId === treeId) return undefined;
  if (before) {
    const [what, field] = judgementId === undefined ? ['step', 'data.stepId'] : ['judgement', 'data.judgementId'];
    return { code: 'conflict', field, reason: `${what} ${id} has a prompt in tree ${before.treeId}` };
  }
  const continued = base ? known.get(base.stepId) : undefined;
  if (base && continued?.treeId !== treeId) {
    const reason = `tree ${treeId} has no prompt of step ${base.stepId}; append its PromptShown first, then release this event`;
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
  known.set(id, { treeId, length, withImages, structured, tokens: tokens && tokens.keep + tokens.ids.length });
  rows.push(promptRow(delivery, { length, withImages, structured }));
  return undefined;
}

async function knownPrompts(batch: readonly Delivery[], trx: Trx): Promise<Map<string, Known>> {
  const ids = batch.flatMap((delivery) => {
    if (!isOf(delivery, 'PromptShown')) return [];
    const id = promptIdOf(delivery.event.data);
    const { base } = delivery.event.data;
    return base ? [id, base.stepId] : [id];
  });
  if (ids.length === 0) return new Map();
  const rows = await rowsWhere(trx, 'prompts', { promptId: ids }, [
    'promptId',
    'treeId',
    'length',
    'withImages',
    'structured',
    'tokenCount',
  ]);
  return new Map(
    rows.map(({ promptId, treeId, length, withImages, structured, tokenCount: tokens }) => [
      promptId,
      { treeId, length, withImages, structured, tokens },
    ]),
  );
}
