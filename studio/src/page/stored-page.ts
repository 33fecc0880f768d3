import type { PageRecord } from '../../../graphql/studio/page-record.ts';
import type { PageAnswers } from './answers.ts';

/** The page and its answers, once `main.tsx` has read them. */
export interface StoredPage extends PageAnswers {
  readonly record: PageRecord;
}
let page: StoredPage | undefined;

/** Keeps what the page holds. */
export function hold(held: StoredPage): void {
  page = held;
}

/** Returns what the page holds. @throws Error before it is read. */
export function heldPage(): StoredPage {
  if (!page) throw new Error('the page is not read yet');
  return page;
}
