import { sha256Hex } from '../../digest/sha256.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import type { Envelope } from '../../events/envelope.ts';
import { wellFormed } from '../../events/well-formed.ts';
import { segmentId } from '../../images/image-id.ts';
import type { Problem } from '../reply.ts';
import type { Sent } from './check-events.ts';

/** Finds what is named by its content and has another name than its content implies: its projection would set it aside. */
export function wrongDigests(events: readonly Sent[]): readonly Problem[] {
  const problems: Problem[] = [];
  for (const { index, event } of events) {
    const wrong = wrongDigest(event);
    if (wrong) problems.push({ index, id: event.id, ...wrong });
  }
  return problems;
}

function wrongDigest(event: Envelope): Pick<Problem, 'path' | 'message' | 'remedy'> | undefined {
  if (event.type === 'RenderSpecRegistered') {
    const digest = sha256Hex(canonicalJson(event.data.spec));
    if (digest === event.data.renderSpecId) return undefined;
    const remedy = 'name a spec by the SHA-256 of its JSON with sorted keys and no blanks';
    return { path: 'data.renderSpecId', message: `is not the digest of data.spec, which is ${digest}`, remedy };
  }
  if (event.type === 'SegmentRendered' && typeof event.data.text === 'string') {
    const digest = segmentId(event.data.renderSpecId, wellFormed(event.data.text).value); // as it will be stored
    if (digest === event.data.segmentId) return undefined;
    const remedy =
      'name a segment by the SHA-256 of "seg", NUL, the render spec id, NUL and its text, NUL and half surrogates replaced by U+FFFD';
    return { path: 'data.segmentId', message: `is not the digest of data.text under this spec, which is ${digest}`, remedy };
  }
  return undefined;
}
