import { sql } from 'kysely';
import type { Db } from './database.ts';
import { countEach, mapPages, type Page, type PageRequest, readPages } from './keyset.ts';
import type { Ordering } from './keyset-cursor.ts';

/** What a verification of the record found, as it is kept. @typeParam Report what was counted, and the first faults. */
export interface VerificationRecord<Report = unknown> {
  readonly id: string;
  readonly finishedAt: Date;
  readonly seconds: number;
  readonly codeVersion: string;
  readonly faulty: number;
  readonly report: Report;
}

const FINISHED_DESC: Ordering = {
  name: 'verifications/FINISHED_DESC',
  direction: 'desc',
  keys: [
    { column: 'verifications.finishedAt', type: 'instant' },
    { column: 'verifications.verificationId', type: 'uuid' },
  ],
};

/** Keeps what a verification found. */
export async function recordVerification(
  db: Db,
  { seconds, codeVersion, faulty, report }: Omit<VerificationRecord, 'id' | 'finishedAt'>,
): Promise<void> {
  await sql`
    insert into verifications (seconds, code_version, faulty, report)
    values (${seconds}, ${codeVersion}, ${faulty}, ${JSON.stringify(report)}::jsonb)`.execute(db);
}

/** Reads one page of the verifications, the last to finish first. @throws InvalidCursor. */
export async function readVerifications(db: Db, page: PageRequest): Promise<Page<VerificationRecord>> {
  const [found] = mapPages(
    await readPages(db, [db.selectFrom('verifications').selectAll()], FINISHED_DESC, page),
    ({ verificationId: id, finishedAt, seconds, codeVersion, faulty, report }) => {
      return { id, finishedAt, seconds, codeVersion, faulty, report };
    },
  );
  if (!found) throw new Error('one query has one page');
  return found;
}

/** Counts the verifications. */
export async function countVerifications(db: Db): Promise<number> {
  return (await countEach(db, [db.selectFrom('verifications')]))[0] ?? 0;
}
