import { CODE_VERSION } from '../../platform/code-version.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { recordVerification, type VerificationRecord } from '../../postgres/verifications.ts';
import type { Verification } from './verification.ts';

/** A verification as it is kept. */
export type KeptVerification = VerificationRecord<Verification>;

/** Keeps the report of a verification, next to the record and not in it. @param tookMs how long it took. */
export async function keepVerification(
  { database }: Pick<Platform, 'database'>,
  report: Verification,
  tookMs: number,
): Promise<void> {
  const seconds = Math.round(tookMs / 1_000);
  await recordVerification(database.db, { seconds, codeVersion: CODE_VERSION, faulty: report.faulty, report });
}
