import { CODE_VERSION } from '../../platform/code-version.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { recordVerification, type VerificationRecord } from '../../postgres/verifications.ts';
import type { DoubtfulRevision } from './verify-revisions.ts';

/** Something of the record that is not as it was written. */
export interface Fault {
  readonly what: 'event' | 'blob' | 'batch' | 'checkpoint' | 'dataset' | 'prompt' | 'log' | 'read model' | 'anchor';
  readonly kind: 'changed' | 'missing' | 'inserted' | 'renumbered' | 'unchained' | 'unknown' | 'moved' | 'foreign';
  /**
   * The event's place and id (and the columns that contradict it), the blob's name, the batch's id, the policy's version with its
   * checkpoint, the file (and the fields), the step or
   * judgement that a prompt was asked for.
   */
  readonly place: string;
}

export interface Verification {
  readonly events: number;
  /** Records of the log that were read; null where it was left out, or is not as it was recorded. */
  readonly records: number | null;
  readonly blobs: number;
  readonly batches: number;
  readonly checkpoints: number;
  readonly files: number;
  readonly prompts: number;
  /** Chain heads that were anchored; null where no anchor was asked for, or something is at fault. */
  readonly anchored: number | null;
  readonly faulty: number;
  /** The first faults. */
  readonly faults: readonly Fault[];
  /**
   * How many event ids several streams hold, and the first of them with the streams. Each event is a fact of its own stream, so
   * that they are no fault of the record; an id that was derived was taken by somebody else than its stream.
   */
  readonly foreign: number;
  readonly foreignIds: readonly { readonly eventId: string; readonly streams: readonly string[] }[];
  /**
   * How many revisions are as they were written and do not hold by the record; and the first of them. They are no fault of the
   * record.
   */
  readonly doubtful: number;
  readonly doubtfulRevisions: readonly DoubtfulRevision[];
}

/** A verification as it is kept. */
export type StoredVerification = VerificationRecord<Verification>;

/** Keeps the report of a verification, next to the record and not in it. @param tookMs how long it took. */
export async function keepVerification(
  { database }: Pick<Platform, 'database'>,
  report: Verification,
  tookMs: number,
): Promise<void> {
  const seconds = Math.round(tookMs / 1_000);
  await recordVerification(database.db, { seconds, codeVersion: CODE_VERSION, faulty: report.faulty, report });
}
