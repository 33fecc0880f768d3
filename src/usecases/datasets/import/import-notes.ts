import type { RowNote, RowNoteKind } from './row-note.ts';

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
