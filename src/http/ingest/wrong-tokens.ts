import { findArrayFault } from '../../domain/training/planning/record-fault.ts';
import { findLogProbFault, findTokenValueFault } from '../../domain/training/planning/token-fault.ts';
import type { Envelope } from '../../events/envelope.ts';
import { unpack } from '../../events/packed.ts';
import type { Packed } from '../../events/schemas/values.ts';
import type { Problem } from '../reply.ts';

type Wrong = Pick<Problem, 'path' | 'message' | 'remedy'>;

/**
 * Finds token arrays of an event that no trainer can use: of another length than they say or than the ids have, ids below 0,
 * log-probabilities that are not finite or above 0. Bytes in the blob store are looked at when rows are read.
 */
export function wrongTokens(event: Envelope): Wrong | null {
  if (event.type === 'PromptShown') {
    const { tokens } = event.data;
    return tokens && wrongIds('data.tokens.ids', event.data.stepId, tokens.ids);
  }
  if (event.type !== 'StepTaken' || event.data.tokens === null) return null;
  const { stepId, tokens } = event.data;
  const { ids, logProbs, mask, ends, entropies } = tokens;
  return (
    wrongIds('data.tokens.ids', stepId, ids) ??
    (ends && (wrongArray('data.tokens.ends', stepId, ends, 'int32', ids.length) ?? wrongEnds(stepId, ends))) ??
    (entropies && wrongArray('data.tokens.entropies', stepId, entropies, 'float32', ids.length)) ??
    (mask && wrongArray('data.tokens.mask', stepId, mask, 'uint8', ids.length)) ??
    (logProbs &&
      (wrongArray('data.tokens.logProbs', stepId, logProbs, 'float32', ids.length) ?? wrongValues(stepId, logProbs, mask)))
  );
}

function wrongIds(path: string, stepId: string, ids: Packed): Wrong | null {
  const fault = wrongArray(path, stepId, ids, 'int32', ids.length);
  if (fault || typeof ids.bytes !== 'string') return fault;
  const message = findTokenValueFault(`step ${stepId}`, { ids: unpack(ids), mask: null, logProbs: null });
  return message === null ? null : { path, message };
}

/** A text is cut at its ends from left to right. */
function wrongEnds(stepId: string, ends: Packed): Wrong | null {
  if (typeof ends.bytes !== 'string') return null;
  const found = unpack(ends).findIndex((end, i, all) => end < (all[i - 1] ?? 0));
  if (found === -1) return null;
  const message = `step ${stepId}: the text of token ${found} ends before that of the token before it`;
  return { path: 'data.tokens.ends', message, remedy: 'send the index in `response` after each token, in code points' };
}

function wrongValues(stepId: string, logProbs: Packed, mask: Packed | null): Wrong | null {
  if (typeof logProbs.bytes !== 'string' || typeof (mask?.bytes ?? '') !== 'string') return null;
  const message = findLogProbFault(`step ${stepId}`, unpack(logProbs), logProbs.length, mask && unpack(mask));
  return message === null
    ? null
    : { path: 'data.tokens.logProbs', message, remedy: 'send the log-probabilities as the server returned them, or null' };
}

function wrongArray(path: string, stepId: string, array: Packed, wanted: Packed['dtype'], due: number): Wrong | null {
  const { dtype, length, bytes } = array;
  const found = typeof bytes === 'string' ? Buffer.byteLength(bytes, 'base64') : bytes.size;
  const message = findArrayFault(stepId, { dtype, length, bytes: found }, wanted, due);
  return message === null ? null : { path, message };
}
