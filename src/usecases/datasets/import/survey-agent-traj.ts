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
  /** Places among the items of those that were left out since the schema of an event refuses what they become. */
  readonly refused: ReadonlySet<number>;
}

/** Rows that were left out since they cannot be read. */
export interface SkippedRows {
  readonly rows: number;
  /** Of the first of them, why. */
  readonly first: readonly { readonly line: number; readonly reason: string }[];
}

const NAMED = 20;

/**
 * Reads the file once and checks every row. @param refusalOf says why no events can be made of an episode; null: a row that cannot be
 * taken ends it. @throws DatasetError `bad-row` with the line;
 * `cannot-read`.
 */
export async function surveyAgentTraj(
  form: ItemForm,
  path: string,
  options: AgentTrajOptions,
  refusalOf: ((episode: Episode) => Promise<string | null>) | null,
): Promise<Survey> {
  const hash = openSha256();
  const episodes = new Map<string, number>();
  const environments = new Set<string>();
  const acknowledgements = new Set<string | null>();
  const notes = new NoteCounter();
  const first: { line: number; reason: string }[] = [];
  const refused = new Set<number>();
  let [withoutConversation, skipped, at] = [0, 0, -1];
  const skip = (line: number, reason: string) => {
    skipped += 1;
    if (first.length < NAMED) first.push({ line, reason });
  };
  for await (const { line, parsed } of form.items(path, options, hash)) {
    at += 1;
    if (parsed.kind === 'refused') {
      if (refusalOf === null)
        throw new DatasetError(
          'bad-row',
          `${path} line ${line}: ${parsed.reason}; nothing was imported (--skip-bad leaves such rows out)`,
        );
      skip(line, parsed.reason);
      continue;
    }
    if (parsed.kind === 'no-conversation') {
      withoutConversation += 1;
      continue;
    }
    const { episode } = parsed;
    const refusal = refusalOf && (await refusalOf(episode));
    if (refusal) {
      refused.add(at);
      skip(line, refusal);
      continue;
    }
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
    refused,
  };
}

/** Finds which episodes are of one task: environment, alias, instruction and first observation. A tree is all of them. */
export function taskKey({ environment, alias, instruction, firstObservation }: Episode): string {
  return derivedId('agent-traj-task', environment, alias, instruction, firstObservation);
}
