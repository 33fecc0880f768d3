import type { Sha256 } from '../../../../digest/sha256.ts';
import type { ParsedItem } from '../agent-traj-item.ts';
import type { AgentTrajOptions } from '../agent-traj-options.ts';

/** An item of a file and the line it begins on. */
export interface ItemOfFile {
  readonly line: number;
  readonly parsed: ParsedItem;
}

/** How files of others are read: as items, each a trajectory of one task. */
export interface ItemForm {
  readonly name: ItemFormName;
  /** Names the mapping from items to events. A change of the mapping raises it, and so assigns other ids to the runs. */
  readonly importer: string;
  /** What a run of it is called. */
  readonly title: string;
  /** Who acted, where neither the file nor an option says so. */
  readonly policyId: string;
  /** Reads a file from its beginning. @param hash is fed every byte. @throws DatasetError `cannot-read`, `bad-row`. */
  items(path: string, options: AgentTrajOptions, hash?: Sha256): AsyncGenerator<ItemOfFile>;
}

export const ITEM_FORMS = ['sharegpt', 'openai', 'atif', 'verl', 'verifiers', 'hf-trace'] as const;
export type ItemFormName = (typeof ITEM_FORMS)[number];

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
