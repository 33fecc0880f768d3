import { openSha256 } from '../../../digest/sha256.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { DatasetError } from '../dataset-error.ts';
import type { Episode, RowNote, RowNoteKind } from './agent-traj-item.ts';
import type { AgentTrajOptions } from './agent-traj-options.ts';
import type { ItemForm } from './forms/item-of-file.ts';

/** What an import of a file changed or left out, in how many rows. */
export interface ImportNote extends RowNote {
  readonly rows: number;
  /** The line of the first of them. */
  readonly firstLine: number;
  /** The same as a sentence. */
  readonly message: string;
}

const MOST = 100; // names of fields come from the file: a row may have any number of them

/** Counts the notes of rows by what they say. */
export class NoteCounter {
  readonly #counts = new Map<string, { readonly note: RowNote; readonly firstLine: number; rows: number }>();

  add(line: number, notes: readonly RowNote[]): void {
    const seen = new Set<string>(); // one row counts once for each
    for (const note of notes) {
      const named = `${note.kind} ${note.field}`;
      const known = this.#counts.has(named) || this.#counts.size < MOST;
      const key = known ? named : note.kind;
      if (seen.has(key)) continue;
      seen.add(key);
      const count = this.#counts.get(key);
      if (count) count.rows += 1;
      else this.#counts.set(key, { note: known ? note : { ...note, field: null }, firstLine: line, rows: 1 });
    }
  }

  finish(): readonly ImportNote[] {
    return [...this.#counts.values()].map(({ note, rows, firstLine }) => ({
      kind: note.kind,
      field: note.field,
      rows,
      firstLine,
      message: `${whereOf(note.kind, rows, firstLine)}: ${saysOf(note)}`,
    }));
  }
}

function whereOf(kind: RowNoteKind, rows: number, firstLine: number): string {
  if (kind === 'column-not-read') return 'a column of Parquet';
  return `${rows} ${rows === 1 ? 'row' : 'rows'} (line ${firstLine}${rows === 1 ? '' : ' is the first'})`;
}

function saysOf({ kind, field }: RowNote): string {
  const isUnread = kind === 'field-not-read' || kind === 'column-not-read';
  if (isUnread && field !== null && REWARDS.has(field))
    return `${field} is not read here, so the rollout has no reward from it; --format verifiers reads prompt, completion and reward, sharegpt reads reward, and metadata.scores of our own files holds return`;
  if (isUnread) return `${field ?? 'one of further fields'} is not read and not kept`;
  if (kind === 'role-not-kept')
    return field === 'function_call'
      ? 'function_call holds no call of a tool as JSON, and is read as a text'
      : `messages of the role ${field} are recorded as those of a tool`;
  if (kind === 'line-not-read') return `lines of the type ${field ?? 'of others'} are not read and not kept`;
  if (kind === 'part-not-read') return `parts of the type ${field ?? 'of others'} are not read and not kept`;
  return SAYS[kind];
}

const REWARDS = new Set(['reward', 'rewards', 'score', 'scores', 'success']);

const SAYS: Readonly<
  Record<Exclude<RowNoteKind, 'field-not-read' | 'column-not-read' | 'role-not-kept' | 'line-not-read' | 'part-not-read'>, string>
> = {
  'calls-as-text':
    'the text of a reply holds calls of tools: they stay text, as the model was shown it; write them as tool_calls for calls',
  'messages-joined': 'several messages in a row are one text now, an empty line between them',
  'instruction-first': 'a system message behind another is put in front',
  'empty-message-added': 'a reply follows no message of user or tool: exports write an empty message of the user before it',
  'weight-read-as-1': 'a weight other than 0 and 1 is read as 1',
  'reply-without-mask':
    'the reply may hold what tools said, and no mask says which part the model did: it is context, which no export trains on',
  'session-compacted':
    'the session was compacted: the model was shown a summary behind that place, and the prompts here hold the whole',
  'sidechain-left-out': 'messages of sub-agents (isSidechain) are left out',
  'sidechain-alone': 'messages of a sub-agent (isSidechain) are the trajectory, since the file holds no others',
  'characters-replaced': 'half surrogates and NUL became U+FFFD, since the record is UTF-8 in Postgres, which holds neither',
};

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

/** Returns the survey of a file of which nothing is read yet. */
export function emptySurvey(sha256: string): Survey {
  return {
    sha256,
    environments: [],
    episodes: new Map(),
    withoutConversation: 0,
    acknowledgement: null,
    notes: [],
    skipped: { rows: 0, first: [] },
    refused: new Set(),
  };
}

/** Rows that were left out since they cannot be read. */
export interface SkippedRows {
  readonly rows: number;
  /** Of the first of them, why. */
  readonly first: readonly { readonly line: number; readonly reason: string }[];
}

const NAMED = 20;

/** Counts rows that are left out, and names the first of them. */
export class SkipCounter {
  readonly #first: { readonly line: number; readonly reason: string }[] = [];
  #rows = 0;

  add(line: number, reason: string): void {
    this.#rows += 1;
    if (this.#first.length < NAMED) this.#first.push({ line, reason });
  }

  finish(): SkippedRows {
    return { rows: this.#rows, first: this.#first };
  }
}

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
  const skipped = new SkipCounter();
  const refused = new Set<number>();
  let [withoutConversation, at] = [0, -1];
  for await (const { line, parsed } of form.items(path, options, hash)) {
    at += 1;
    if (parsed.kind === 'refused') {
      if (refusalOf === null)
        throw new DatasetError(
          'bad-row',
          `${path} line ${line}: ${parsed.reason}; nothing was imported (--skip-bad leaves such rows out)`,
        );
      skipped.add(line, parsed.reason);
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
      skipped.add(line, refusal);
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
    skipped: skipped.finish(),
    refused,
  };
}

/** Finds which episodes are of one task: environment, alias, instruction and first observation. A tree is all of them. */
export function taskKey({ environment, alias, instruction, firstObservation }: Episode): string {
  return derivedId('agent-traj-task', environment, alias, instruction, firstObservation);
}
