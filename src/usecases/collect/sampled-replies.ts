import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import type { Draft } from '../../append/appender.ts';
import type { PolicyPrompt } from '../../domain/prompts/policy-prompt.ts';
import { derivedId } from '../../events/derived-id.ts';
import { pack, unpack } from '../../events/packed.ts';
import { role, sampling } from '../../events/schemas/prompts.ts';
import { modelCall } from '../../events/schemas/trees.ts';
import { count, type Packed, packed, policyRef, toolId } from '../../events/schemas/values.ts';
import type { Act } from '../../policies/policy.ts';
import type { Db } from '../../postgres/database.ts';
import { readEventsOfTypes } from '../../projections/journal/read-events-of-types.ts';
import type { GrowingTree, SampledReplies } from './growing-tree.ts';
import { packedTokens } from './rollout-events.ts';

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
  const bytes = gzipSync(JSON.stringify(acts.map((act, i) => storedAct(act, acts.slice(0, i)))));
  return {
    type: 'RepliesSampled',
    id: derivedId('RepliesSampled', tree.treeId, stepId),
    correlationId: tree.runId,
    data: {
      treeId: tree.treeId,
      stepId,
      simulation,
      asked: candidates,
      count: acts.length,
      policyMs,
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
    found.set(stepId, { policyMs, acts: readActs(stored) });
  }
  return found;
}

const usage = z.strictObject({ promptTokens: count, completionTokens: count }).nullable();
const askedPrompt = z.strictObject({
  messages: z.array(
    z.strictObject({
      role,
      toolCallId: toolId.exactOptional(),
      name: toolId.exactOptional(),
      parts: z.array(
        z.discriminatedUnion('kind', [
          z.strictObject({ kind: z.literal('text'), text: z.string() }),
          z.strictObject({ kind: z.literal('image'), imageId: z.string() }),
          z.strictObject({ kind: z.literal('reasoning'), text: z.string() }),
          z.strictObject({ kind: z.literal('tool-call'), id: toolId.nullable(), name: toolId, arguments: z.string() }),
        ]),
      ),
    }),
  ),
  tools: z.string().nullable(),
  sampling,
  server: z.string().nullable(),
  model: z.string().nullable(),
  tokenIds: packed.nullable(),
});
const storedActs = z.array(
  z.strictObject({
    response: z.string(),
    apart: z
      .strictObject({
        reasoning: z.string(),
        toolCalls: z.array(z.strictObject({ id: toolId.nullable(), name: toolId, arguments: z.string() })),
      })
      .exactOptional(),
    tokens: z
      .strictObject({ ids: packed, logProbs: packed.nullable(), ends: packed.optional(), entropies: packed.optional() })
      .nullable(),
    usage,
    finishReason: z.string().nullable(),
    policy: policyRef.optional(),
    call: modelCall.optional(),
    /** What it was asked with, or the index of an earlier reply to the same prompt. */
    asked: z.union([askedPrompt, count]).optional(),
  }),
);
type StoredAct = z.infer<typeof storedActs>[number];

function storedAct(
  { response, apart, tokens, usage, finishReason, policy, call, asked }: Act,
  earlier: readonly Act[],
): StoredAct {
  const same = asked ? earlier.findIndex((act) => act.asked === asked) : -1;
  return {
    response,
    ...(apart ? { apart: { ...apart, toolCalls: [...apart.toolCalls] } } : {}),
    usage,
    finishReason,
    tokens: tokens && packedTokens(tokens),
    ...(policy ? { policy } : {}),
    ...(call ? { call } : {}),
    ...(asked ? { asked: same === -1 ? storedPrompt(asked) : same } : {}),
  };
}

function storedPrompt({ messages, tokenIds, sampling, ...asked }: PolicyPrompt): z.infer<typeof askedPrompt> {
  return {
    ...asked,
    messages: messages.map((message) => ({ ...message, parts: [...message.parts] })),
    sampling: { ...sampling, stop: [...sampling.stop], others: [...sampling.others] },
    tokenIds: tokenIds && pack('int32', tokenIds),
  };
}

function readActs(stored: readonly StoredAct[]): readonly Act[] {
  const acts: Act[] = [];
  for (const { asked, ...act } of stored) {
    const prompt = typeof asked === 'number' ? acts[asked]?.asked : asked && readPrompt(asked);
    acts.push({ ...readAct(act), ...(prompt ? { asked: prompt } : {}) });
  }
  return acts;
}

function readPrompt({ tokenIds, ...asked }: z.infer<typeof askedPrompt>): PolicyPrompt {
  return { ...asked, tokenIds: tokenIds && unpack(tokenIds) };
}

function readAct({ tokens, policy, call, ...act }: Omit<StoredAct, 'asked'>): Act {
  const numbers = (array: Packed) => unpack(array);
  return {
    ...act,
    tokens: tokens && {
      ids: numbers(tokens.ids),
      logProbs: tokens.logProbs && numbers(tokens.logProbs),
      ...(tokens.ends ? { ends: numbers(tokens.ends) } : {}),
      ...(tokens.entropies ? { entropies: numbers(tokens.entropies) } : {}),
    },
    ...(policy ? { policy } : {}),
    ...(call ? { call } : {}),
  };
}
