import { openSha256 } from '../../../digest/sha256.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { DatasetError } from '../dataset-error.ts';
import type { Episode } from './agent-traj-item.ts';
import type { AgentTrajOptions } from './agent-traj-options.ts';
import type { ItemForm } from './forms/item-of-file.ts';
import { type ImportNote, NoteCounter } from './import-notes.ts';

/** What the whole file says, before any event is made of it. Held in memory: one entry per task. */
export interface Survey {
  readonly sha256: string;
  readonly environments: readonly string[];
  /** Task key → its number of episodes. */
  readonly episodes: ReadonlyMap<string, number>;
  readonly withoutConversation: number;
  /** The one acknowledgement of the file; null when it has none or several. */
  readonly acknowledgement: string | null;
  /** What of its rows is not kept as it is. */
  readonly notes: readonly ImportNote[];
  readonly skipped: SkippedRows;
}

/** Rows that were left out since they cannot be read. */
export interface SkippedRows {
  readonly rows: number;
  /** Of the first of them, why. */
  readonly first: readonly { readonly line: number; readonly reason: string }[];
}

const NAMED = 20;

/** Reads the file once and checks every row. @throws DatasetError `bad-row` with the line; `cannot-read`. */
export async function surveyAgentTraj(
  form: ItemForm,
  path: string,
  options: AgentTrajOptions,
  badRows: 'refuse' | 'skip',
): Promise<Survey> {
  const hash = openSha256();
  const episodes = new Map<string, number>();
  const environments = new Set<string>();
  const acknowledgements = new Set<string | null>();
  const notes = new NoteCounter();
  const first: { line: number; reason: string }[] = [];
  let [withoutConversation, skipped] = [0, 0];
  for await (const { line, parsed } of form.items(path, options, hash)) {
    if (parsed.kind === 'refused') {
      if (badRows === 'refuse')
        throw new DatasetError(
          'bad-row',
          `${path} line ${line}: ${parsed.reason}; nothing was imported (--skip-bad leaves such rows out)`,
        );
      skipped += 1;
      if (first.length < NAMED) first.push({ line, reason: parsed.reason });
      continue;
    }
    if (parsed.kind === 'no-conversation') {
      withoutConversation += 1;
      continue;
    }
    const { episode } = parsed;
    notes.add(line, parsed.notes ?? []);
    const key = taskKey(episode);
    episodes.set(key, (episodes.get(key) ?? 0) + 1);
    environments.add(episode.environment);
    if (acknowledgements.size < 2) acknowledgements.add(episode.acknowledgement);
  }
  const [only = null] = acknowledgements;
  return {
    sha256: hash.digest('hex'),
    environments: [...environments].sort(),
    episodes,
    withoutConversation,
    acknowledgement: acknowledgements.size === 1 ? only : null,
    notes: notes.finish(),
    skipped: { rows: skipped, first },
  };
}

/** Finds which episodes are of one task: environment, alias, instruction and first observation. A tree is all of them. */
export function taskKey({ environment, alias, instruction, firstObservation }: Episode): string {
  return derivedId('agent-traj-task', environment, alias, instruction, firstObservation);
}
