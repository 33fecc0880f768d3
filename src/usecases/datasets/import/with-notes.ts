import type { ParsedItem } from './agent-traj-item.ts';
import type { RowNote } from './row-note.ts';

/** Adds notes to a row that is taken; one that is refused needs none. */
export function withNotes(parsed: ParsedItem, notes: readonly RowNote[]): ParsedItem {
  return parsed.kind === 'episode' && notes.length > 0 ? { ...parsed, notes: [...(parsed.notes ?? []), ...notes] } : parsed;
}
