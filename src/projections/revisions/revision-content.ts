import { sha256Hex } from '../../digest/sha256.ts';
import type { RevisedTurn } from '../../domain/revision/splice.ts';

/**
 * Hashes what a reader of a revision trajectory sees: instruction, first observation, and each turn with its loss flag. Revisions
 * of one hash teach the same, whatever trees and leaves they came from. Returns the SHA-256 in hex of their JSON.
 */
export function revisionContentHash(
  opening: { readonly instruction: string; readonly firstObservation: string },
  turns: readonly RevisedTurn[],
): string {
  const content = [
    opening.instruction,
    opening.firstObservation,
    turns.map(({ response, observation, loss }) => [response, observation, loss]),
  ];
  return sha256Hex(JSON.stringify(content));
}
