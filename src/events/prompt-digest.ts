import { sha256Hex } from '../digest/sha256.ts';
import type { PolicyMessage } from '../domain/prompts/policy-prompt.ts';
import { canonicalJson } from './canonical-json.ts';

/** Computes the SHA-256 (hex) by which a prompt is recorded: over the canonical JSON of its messages, pictures by their id. */
export function promptDigest(messages: readonly PolicyMessage[]): string {
  return sha256Hex(canonicalJson(messages));
}

/** Computes the SHA-256 (hex) of a block of a prompt in UTF-8: that of its blob, where it lies in the blob store. */
export function blockDigest(text: string): string {
  return sha256Hex(text);
}
