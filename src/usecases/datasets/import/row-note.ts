import { wellFormed } from '../../../events/well-formed.ts';

/** What of a row cannot be kept as it is. It is no fault, and an import says it. */
export interface RowNote {
  readonly kind: RowNoteKind;
  /** The field or the role that it is about; null where the kind says it all. */
  readonly field: string | null;
}

export type RowNoteKind =
  | 'role-not-kept'
  | 'messages-joined'
  | 'instruction-first'
  | 'empty-message-added'
  | 'weight-read-as-1'
  | 'field-not-read'
  | 'column-not-read'
  | 'line-not-read'
  | 'reply-without-mask'
  | 'part-not-read'
  | 'session-compacted'
  | 'sidechain-left-out'
  | 'sidechain-alone'
  | 'characters-replaced';

/** Notes that texts of a row are not storable as they are. @param value the row as it was read. */
export function characterNotes(value: unknown): readonly RowNote[] {
  return wellFormed(value).repaired.length > 0 ? [{ kind: 'characters-replaced', field: null }] : [];
}

/** Notes the fields of an object that hold something and are none of those read. @param prefix of their names. */
export function unreadNotes(value: unknown, read: readonly string[], prefix = ''): readonly RowNote[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value)
    .filter(([name, held]) => !read.includes(name) && !isEmpty(held))
    .map(([name]) => ({ kind: 'field-not-read', field: `${prefix}${name}` }));
}

function isEmpty(held: unknown): boolean {
  if (held === null || held === undefined || held === '') return true;
  return typeof held === 'object' && Object.keys(held).length === 0;
}
