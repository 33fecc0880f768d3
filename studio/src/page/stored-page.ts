import type { PageRecord } from '../../../graphql/studio/page-record.ts';
import { readShared, type SharedValues } from '../../../graphql/studio/shared-values.ts';
import { type PageAnswers, pageAnswers } from './answers.ts';

/** A page that opens without a server: what is written in it, and the answers that the views get from that. */
export interface StoredPage extends PageAnswers {
  readonly record: PageRecord;
}
let page: StoredPage | null | undefined; // undefined before it was looked for

/** Returns what the document holds; null where a server is asked instead. */
export function heldPage(): StoredPage | null {
  if (page === undefined) {
    const written = document.getElementById('record')?.textContent;
    const record = written ? (readShared(JSON.parse(written) as SharedValues) as PageRecord) : null; // as the same version wrote it
    page = record && { record, ...pageAnswers(record) };
  }
  return page;
}

/** Whether the answers lie in the page: nothing can be changed then. */
export function isPage(): boolean {
  return heldPage() !== null;
}
