import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import type { Draft } from '../../append/appender.ts';
import { derivedId } from '../../events/derived-id.ts';
import { pack, unpack } from '../../events/packed.ts';
import { modelCall } from '../../events/schemas/trees.ts';
import { count, type Packed, packed, policyRef } from '../../events/schemas/values.ts';
import type { Act } from '../../policies/policy.ts';
import type { Db } from '../../postgres/database.ts';
import { readEventsOfTypes } from '../../projections/journal/read-events-of-types.ts';
import type { GrowingTree } from './growing-tree.ts';
import type { SampledReplies } from './recorded-tree.ts';

/** Reads bytes of the blob store. */
export type ReadBytes = (sha256: string) => Promise<Uint8Array>;

/**
 * Records the replies of a call before any of them is executed: a search that is killed in between goes on with them, since a
 * model that is asked again may say something else, and children of two calls are no expansion. What is executed is recorded
 * again as a step, so the replies are compressed together: siblings share most of their words.
 */
export function repliesSampled(
  tree: GrowingTree,
  { stepId, simulation, candidates }: { readonly stepId: string; readonly simulation: number; readonly candidates: number },
  { acts, policyMs }: SampledReplies,
): Draft {
  const bytes = gzipSync(JSON.stringify(acts.map(storedAct)));
  return {
    type: 'RepliesSampled',
    id: derivedId('RepliesSampled', tree.treeId, stepId),
    correlationId: tree.runId,
    data: {
      ...{ treeId: tree.treeId, stepId, simulation, asked: candidates, count: acts.length, policyMs },
      replies: pack('uint8', bytes),
    },
  };
}

/** Reads the replies of the nodes of a tree whose children are not all known yet, by node. */
export async function readSampledReplies(
  db: Db,
  treeId: string,
  expanded: ReadonlySet<string>,
  readBytes: ReadBytes,
): Promise<ReadonlyMap<string, SampledReplies>> {
  const found = new Map<string, SampledReplies>();
  for (const { data } of await readEventsOfTypes(db, treeId, ['RepliesSampled'])) {
    const { stepId, policyMs, replies } = data;
    if (expanded.has(stepId) || found.has(stepId)) continue;
    const bytes = typeof replies.bytes === 'string' ? undefined : await readBytes(replies.bytes.blob);
    const stored = storedActs.parse(JSON.parse(gunzipSync(Uint8Array.from(unpack(replies, bytes))).toString('utf8')));
    found.set(stepId, { policyMs, acts: stored.map(readAct) });
  }
  return found;
}

const usage = z.strictObject({ promptTokens: count, completionTokens: count }).nullable();
const storedActs = z.array(
  z.strictObject({
    response: z.string(),
    tokens: z.strictObject({ ids: packed, logProbs: packed.nullable() }).nullable(),
    usage,
    finishReason: z.string().nullable(),
    policy: policyRef.optional(),
    call: modelCall.optional(),
  }),
);
type StoredAct = z.infer<typeof storedActs>[number];

function storedAct({ response, tokens, usage, finishReason, policy, call }: Act): StoredAct {
  return {
    ...{ response, usage, finishReason },
    tokens: tokens && { ids: pack('int32', tokens.ids), logProbs: tokens.logProbs && pack('float32', tokens.logProbs) },
    ...(policy ? { policy } : {}),
    ...(call ? { call } : {}),
  };
}

function readAct({ tokens, policy, call, ...act }: StoredAct): Act {
  const numbers = (array: Packed) => unpack(array);
  return {
    ...act,
    tokens: tokens && { ids: numbers(tokens.ids), logProbs: tokens.logProbs && numbers(tokens.logProbs) },
    ...(policy ? { policy } : {}),
    ...(call ? { call } : {}),
  };
}
