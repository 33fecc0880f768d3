import { sql } from 'kysely';
import { sha256Hex } from '../../digest/sha256.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import type { EventType } from '../../events/catalogue.ts';
import type { Delivery, Envelope } from '../../events/envelope.ts';
import { segmentId } from '../../images/image-id.ts';
import { copyNew, insertRows } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Row } from '../../postgres/table.ts';
import { keyInTree, keyOf, type OfTree, pairsOf } from '../of-tree.ts';
import { isOf, type Poison, type Projection } from '../projection.ts';
import { tables } from './tables.ts';

const HANDLES: readonly EventType[] = ['RenderSpecRegistered', 'SegmentRendered', 'HistoryRendered'];

/**
 * Folds how histories were shown as images. Specs, segments and histories lie on three topics, which arrive in any order: none
 * asks for another here, and who reads a history says what is missing. Within a tree order holds: a history builds on one before
 * it (else quarantine), and the first that a step was shown is the fact. A spec and a segment must be what their ids are digests
 * of: they are the same rows for all runs.
 */
export const images: Projection = { name: 'images', version: 2, handles: HANDLES, project };

async function project(batch: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  const lengths = await knownHistories(batch, trx);
  const specs = new Map<string, ReturnType<typeof specRow>>();
  const runSpecs = new Map<string, ReturnType<typeof runSpecRow>>();
  const segments = new Map<string, ReturnType<typeof segmentRow>>();
  const histories: ReturnType<typeof historyRow>[] = [];
  const poison: Poison[] = [];
  for (const delivery of batch) {
    if (isOf(delivery, 'RenderSpecRegistered')) {
      const { runId, renderSpecId, spec } = delivery.event.data;
      if (digestOf(spec) !== renderSpecId) {
        const reason = `${renderSpecId} is not the SHA-256 of the canonical JSON of data.spec, which is ${digestOf(spec)}`;
        poison.push({ delivery, code: 'digest', field: 'data.renderSpecId', reason });
        continue;
      }
      keepFirst(specs, renderSpecId, specRow(delivery.event));
      keepFirst(runSpecs, `${runId} ${renderSpecId}`, runSpecRow(delivery.event));
    }
    // A forgotten segment is not kept: who draws its text again records it again.
    if (isOf(delivery, 'SegmentRendered') && !delivery.event.sealed) {
      const { segmentId: id, renderSpecId, text } = delivery.event.data;
      // A text in the blob store is compared by who reads it: a fold reads no blobs.
      if (typeof text === 'string' && segmentId(renderSpecId, text) !== id) {
        const reason = `${id} is not the id of data.text under this spec, which is ${segmentId(renderSpecId, text)}`;
        poison.push({ delivery, code: 'digest', field: 'data.segmentId', reason });
        continue;
      }
      keepFirst(segments, id, segmentRow(delivery.event));
    }
    if (isOf(delivery, 'HistoryRendered')) {
      const refused = foldHistory(delivery, lengths, histories);
      if (refused) poison.push({ delivery, ...refused });
    }
  }
  await insertRows(trx, tables.renderSpecs, [...specs.values()]);
  await insertRows(trx, tables.runRenderSpecs, [...runSpecs.values()]);
  await insertRows(trx, tables.segments, [...segments.values()]);
  await copyNew(trx, tables.historyImages, histories);
  return poison;
}

function foldHistory(
  delivery: Delivery<Envelope<'HistoryRendered'>>,
  lengths: Map<string, number>,
  rows: ReturnType<typeof historyRow>[],
): Omit<Poison, 'delivery'> | undefined {
  const { stepId, treeId, prefix, segments, history } = delivery.event.data;
  const key = keyInTree(treeId, stepId);
  if (lengths.has(key)) return undefined;
  if (prefix) {
    const shown = lengths.get(keyInTree(treeId, prefix.stepId));
    if (shown === undefined) {
      const reason = `tree ${treeId} has no history of step ${prefix.stepId}; append its HistoryRendered first, then requeue this event`;
      return { code: 'missing-history', field: 'data.prefix.stepId', reason };
    }
    if (prefix.from > prefix.to || prefix.to > shown) {
      const reason = `[${prefix.from}, ${prefix.to}) is no range of the ${shown} segments that step ${prefix.stepId} was shown`;
      return { code: 'range', field: 'data.prefix', reason };
    }
  }
  const length = segments.length + (prefix ? prefix.to - prefix.from : 0);
  if ((history === 'segments') !== length > 0)
    return { code: 'range', field: 'data.history', reason: `a history of ${length} segments is not ${JSON.stringify(history)}` };
  lengths.set(key, length);
  rows.push(historyRow(delivery, length));
  return undefined;
}

/** Reads how many segments the histories have that a batch names, by `keyInTree` of their steps. */
async function knownHistories(batch: readonly Delivery[], trx: Trx): Promise<Map<string, number>> {
  const named = batch.flatMap((delivery) => {
    if (!isOf(delivery, 'HistoryRendered')) return [];
    const { treeId, stepId: id, prefix } = delivery.event.data;
    return prefix
      ? [
          { treeId, id },
          { treeId, id: prefix.stepId },
        ]
      : [{ treeId, id }];
  });
  if (named.length === 0) return new Map();
  const { rows } = await sql<OfTree & { readonly length: number }>`
    select h.* from ${pairsOf(named)} w cross join lateral (
      select tree_id, step_id as id, length from history_images where step_id = w.id and tree_id = w.tree_id offset 0) h`.execute(
    trx,
  );
  return new Map(rows.map((row) => [keyOf(row), row.length]));
}

function digestOf(spec: unknown): string {
  return sha256Hex(canonicalJson(spec));
}

function keepFirst<Row>(rows: Map<string, Row>, key: string, row: Row): void {
  if (!rows.has(key)) rows.set(key, row);
}

/** The rows that the events of history images become. */

function specRow({ data }: Envelope<'RenderSpecRegistered'>): Row<typeof tables.renderSpecs> {
  return { renderSpecId: data.renderSpecId, spec: data.spec };
}

function runSpecRow({ data, occurredAt }: Envelope<'RenderSpecRegistered'>): Row<typeof tables.runRenderSpecs> {
  return { runId: data.runId, renderSpecId: data.renderSpecId, profile: data.profile, registeredAt: occurredAt };
}

function segmentRow({ data, correlationId, occurredAt }: Envelope<'SegmentRendered'>): Row<typeof tables.segments> {
  return {
    segmentId: data.segmentId,
    renderSpecId: data.renderSpecId,
    text: typeof data.text === 'string' ? data.text : '',
    lines: data.lines,
    width: data.width,
    height: data.height,
    rgb: data.rgb,
    cutLines: data.cutLines,
    outside: data.outside,
    unshaped: data.unshaped,
    runId: correlationId,
    renderedAt: occurredAt,
    blobs: typeof data.text === 'string' ? null : { text: data.text },
  };
}

function historyRow({ event, offset }: Delivery<Envelope<'HistoryRendered'>>, length: number): Row<typeof tables.historyImages> {
  const { data } = event;
  const { raw, resized, bordered, model } = data.sizes;
  return {
    stepId: data.stepId,
    treeId: data.treeId,
    runId: event.correlationId,
    renderSpecId: data.renderSpecId,
    prefixStepId: data.prefix?.stepId ?? null,
    prefixFrom: data.prefix?.from ?? 0,
    prefixTo: data.prefix?.to ?? 0,
    segments: data.segments,
    length,
    history: data.history,
    missed: data.cache.missed,
    factor: data.factor,
    factorChosenBy: data.factorChosenBy,
    rawWidth: raw.width,
    rawHeight: raw.height,
    resizedWidth: resized.width,
    resizedHeight: resized.height,
    width: bordered.width,
    height: bordered.height,
    modelWidth: model.width,
    modelHeight: model.height,
    visionTokens: data.visionTokens.count,
    visionPreset: data.visionTokens.preset,
    textTokens: data.textTokens.count,
    tokenizer: data.textTokens.tokenizer,
    imageId: data.imageId,
    cutSegments: data.cut.segments,
    cutLines: data.cut.lines,
    outside: data.outside,
    unshaped: data.unshaped,
    renderMs: data.timings.renderMs,
    renderedAt: event.occurredAt,
    logOffset: offset,
  };
}
