import type { Sha256 } from '../../../../digest/sha256.ts';
import { characterNotes, type ParsedItem, type RowNote, withNotes } from '../agent-traj-item.ts';
import type { AgentTrajOptions } from '../agent-traj-options.ts';

/** An item of a file and the line it begins on, or its number where a file has no lines. */
export interface ItemOfFile {
  readonly line: number;
  readonly parsed: ParsedItem;
}

/** How files of others are read: as items, each a trajectory of one task. */
export interface ItemForm {
  readonly name: string;
  /** Names the mapping from items to events. A change of the mapping raises it, and so assigns other ids to the runs. */
  readonly importer: string;
  /** What a run of it is called. */
  readonly title: string;
  /** Who acted, where neither the file nor an option says so. */
  readonly policyId: string;
  /** What files of it cannot hold, or an import of them leaves out. */
  readonly notKept: string;
  /** Returns whether a row is the first of a file of it. */
  recognizes(first: Readonly<Record<string, unknown>>): boolean;
  /** Reads a file from its beginning. @param hash is fed every byte. @throws DatasetError `cannot-read`, `bad-row`. */
  items(path: string, options: AgentTrajOptions, hash?: Sha256): AsyncGenerator<ItemOfFile>;
  /** Reads one line, of a form whose files are followed while they grow. */
  readonly parse?: (value: unknown, environment: string | null) => ParsedItem;
}

/** Adds to the item of a row what of its value is changed. */
export function itemOfRow(parsed: ParsedItem, value: unknown, unread: readonly RowNote[] = []): ParsedItem {
  return withNotes(parsed, [...characterNotes(value), ...unread]);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
