import { stat } from 'node:fs/promises';
import type { Appender } from '../../../append/appender.ts';
import type { BlobStore } from '../../../blobs/blob-store.ts';
import type { Receipt } from '../../../log/event-log.ts';
import type { Db } from '../../../postgres/database.ts';
import { codeOf, DatasetError, reasonOf } from '../dataset-error.ts';
import { agentRDrafts, surveyAgentR } from './agent-r-drafts.ts';
import { agentRFiles, isAgentRSource } from './agent-r-tree.ts';
import { agentTrajDrafts, agentTrajRunId, episodeDrafts } from './agent-traj-drafts.ts';
import type { Episode } from './agent-traj-item.ts';
import type { AgentTrajOptions } from './agent-traj-options.ts';
import { chunkDrafts, type LinedDraft, newToRecord, preparedEvent } from './check-against-record.ts';
import { eventFileDrafts, isEventFile } from './event-file-drafts.ts';
import { detectForm, type ItemFormName, itemFormOf, tellingRow } from './forms/item-form.ts';
import type { ItemForm } from './forms/item-of-file.ts';
import { type ImportNote, type SkippedRows, surveyAgentTraj } from './import-notes.ts';

export interface ImportOptions {
  /**
   * What to take: our own JSONL, a file of others (AgentTraj, chats, ATIF, …: `ITEM_FORMS`), or the search trees of the published
   * Agent-R (one `search_results_<n>.json`, or a folder of them).
   */
  readonly source: string;
  /** How to read it: by what it looks like, as search trees whatever their names, or in one form of others. */
  readonly form: 'detect' | 'agent-r' | ItemFormName;
  /** The read models, asked which events the record already holds. */
  readonly db: Db;
  readonly appender: Appender;
  /** Where the appender puts payloads; those that a file brings go there before the events that name them. */
  readonly blobs: BlobStore;
  /** What becomes of a row of files of others that cannot be read: with `refuse` the file imports nothing. */
  readonly badRows: 'refuse' | 'skip';
  /** What files of others do not say; our own JSONL says all itself. */
  readonly agentTraj: AgentTrajOptions;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ImportProgress) => void;
}
export type ImportProgress =
  | { readonly kind: 'checking'; readonly events: number }
  | { readonly kind: 'appending'; readonly done: number; readonly total: number };

export interface ImportReport {
  readonly source: 'events' | 'agent-traj' | 'agent-r' | Exclude<ItemFormName, 'sharegpt'>;
  readonly runs: readonly string[];
  readonly trees: number;
  readonly rollouts: number;
  readonly steps: number;
  readonly events: number;
  /** Events that the record held already; the others were appended. */
  readonly alreadyThere: number;
  /** Items that name a task without a conversation (AgentEval): passed over. */
  readonly withoutConversation: number;
  /** What files of the form cannot hold, or an import of them leaves out; null where it is nothing. */
  readonly notKept: string | null;
  /** What of files of others is not kept as it is, by what it is. */
  readonly notes: readonly ImportNote[];
  /** Rows of files of others that were left out with `badRows: 'skip'`. */
  readonly skipped: SkippedRows;
  /** The last record appended in each partition: wait for them to read what was imported. */
  readonly receipts: readonly Receipt[];
}

/**
 * Imports a file. It is read, checked and compared with the record to its last row before the first event is appended: one with a
 * fault imports nothing. Events are appended in the order of the file, 500 at a time; an import that was stopped leaves the first
 * of them. Ids come from the file or from its content, so the same import goes on where it ended, and a repeated one appends
 * nothing.
 * @throws DatasetError `cannot-read`, `bad-row`, `conflict`: then nothing was appended.
 */
export async function importTrajectories(options: ImportOptions): Promise<ImportReport> {
  const { source, signal, onProgress } = options;
  const searches = options.form === 'agent-r' || (options.form === 'detect' && (await isAgentRSource(source)));
  const stamp = async () => (searches ? stampOfAll(await agentRFiles(source)) : stampOf(source));
  const before = await stamp();
  const plan = searches ? await planSearches(options) : await planImport(options);
  const report = new ReportCounter(plan.source);
  const homes = new Map<string, string>();
  for await (const chunk of chunkDrafts(plan.drafts())) {
    signal.throwIfAborted();
    report.checked(chunk, await newToRecord(options.db, source, chunk, homes));
    onProgress({ kind: 'checking', events: report.events });
  }
  if ((await stamp()) !== before)
    throw new DatasetError('cannot-read', `${source} was changed while it was read; import it again`);
  const total = report.events - report.alreadyThere;
  let done = 0;
  // With nothing new the file need not be read once more.
  if (total > 0) {
    for await (const chunk of chunkDrafts(plan.drafts())) {
      signal.throwIfAborted();
      const fresh = await newToRecord(options.db, source, chunk, homes);
      for (const { blobs = [] } of chunk) for (const { bytes, mediaType } of blobs) await options.blobs.put(bytes, mediaType);
      if (fresh.length > 0) report.appended(fresh.length, await options.appender.append(fresh.map(({ draft }) => draft)));
      done += fresh.length;
      onProgress({ kind: 'appending', done, total });
    }
  }
  return report.finish(plan);
}

interface ImportPlan {
  readonly source: ImportReport['source'];
  readonly withoutConversation: number;
  readonly notKept: string | null;
  readonly notes: readonly ImportNote[];
  readonly skipped: SkippedRows;
  /** Reads the file from its beginning. */
  drafts(): AsyncGenerator<LinedDraft>;
}

/** @throws DatasetError: events and search trees refer to each other, so that a file of them is one. */
function refuseSkipping(source: string, badRows: ImportOptions['badRows']): void {
  if (badRows === 'skip')
    throw new DatasetError('bad-row', `${source} holds events or search trees, which are taken whole; leave out --skip-bad`);
}

/** Of files that are taken whole, or not at all. */
const WHOLE = { withoutConversation: 0, notKept: null, notes: [], skipped: { rows: 0, first: [] } };

async function planSearches({ source, agentTraj, badRows }: ImportOptions): Promise<ImportPlan> {
  refuseSkipping(source, badRows);
  const survey = await surveyAgentR(source, agentTraj);
  return { source: 'agent-r', ...WHOLE, drafts: () => agentRDrafts(survey, agentTraj) };
}

async function planImport({ source, form: asked, agentTraj, blobs, badRows }: ImportOptions): Promise<ImportPlan> {
  const telling = asked === 'detect' ? await tellingRow(source) : null;
  if (isEventFile(telling)) {
    refuseSkipping(source, badRows);
    return { source: 'events', ...WHOLE, drafts: () => eventFileDrafts(source, blobs) };
  }
  const form = asked === 'detect' || asked === 'agent-r' ? await detectForm(source, telling) : itemFormOf(asked);
  const refusal = badRows === 'skip' ? (episode: Episode) => refusalOf(form, episode, agentTraj) : null;
  const survey = await surveyAgentTraj(form, source, agentTraj, refusal);
  if (survey.episodes.size === 0)
    throw new DatasetError(
      'bad-row',
      `${source} holds no conversation (${survey.withoutConversation} items without one${survey.skipped.rows === 0 ? '' : `, ${survey.skipped.rows} rows skipped`}); nothing to import`,
    );
  const options = { ...agentTraj, runId: agentTrajRunId(form, survey, agentTraj) };
  const { withoutConversation, notes, skipped } = survey;
  const name = form.name === 'sharegpt' ? 'agent-traj' : form.name;
  return {
    source: name,
    notKept: form.notKept,
    withoutConversation,
    notes,
    skipped,
    drafts: () => agentTrajDrafts(form, source, survey, options),
  };
}

/** Says why no events can be made of an episode; null where they can. */
export async function refusalOf(form: ItemForm, episode: Episode, options: AgentTrajOptions): Promise<string | null> {
  for (const draft of episodeDrafts(form, episode, options)) {
    const event = await preparedEvent(draft);
    if (event instanceof Error) return event.message;
  }
  return null;
}

/** Counts what an import takes. */
export class ReportCounter {
  readonly #source: ImportReport['source'];
  readonly #runs = new Set<string>();
  readonly #receipts = new Map<string, Receipt>();
  #trees = 0;
  #rollouts = 0;
  #steps = 0;
  #appended = 0;
  events = 0;
  alreadyThere = 0;

  constructor(source: ImportReport['source']) {
    this.#source = source;
  }

  get rollouts(): number {
    return this.#rollouts;
  }

  checked(drafts: readonly LinedDraft[], fresh: readonly LinedDraft[]): void {
    this.events += drafts.length;
    this.alreadyThere += drafts.length - fresh.length;
    for (const { draft } of drafts) {
      if (draft.type === 'RunStarted') this.#runs.add(draft.data.runId);
      if (draft.type === 'TreeOpened') this.#trees += 1;
      if (draft.type === 'RolloutStarted') this.#rollouts += 1;
      if (draft.type === 'StepTaken') this.#steps += 1;
    }
  }

  /** Not all that was new when it was checked need be new here: an import of the same just before is folded meanwhile. */
  appended(events: number, receipts: readonly Receipt[]): void {
    this.#appended += events;
    for (const receipt of receipts) this.#receipts.set(`${receipt.topic}.${receipt.partition}`, receipt);
  }

  finish(what: Pick<ImportReport, 'withoutConversation' | 'notKept' | 'notes' | 'skipped'>): ImportReport {
    return {
      source: this.#source,
      runs: [...this.#runs],
      trees: this.#trees,
      rollouts: this.#rollouts,
      steps: this.#steps,
      events: this.events,
      alreadyThere: this.events - this.#appended,
      withoutConversation: what.withoutConversation,
      notKept: what.notKept,
      notes: what.notes,
      skipped: what.skipped,
      receipts: [...this.#receipts.values()],
    };
  }
}

async function stampOfAll(files: readonly { readonly path: string }[]): Promise<string> {
  const stamps = await Promise.all(files.map(async ({ path }) => `${path} ${await stampOf(path)}`));
  return stamps.join('\n');
}

async function stampOf(path: string): Promise<string> {
  try {
    const { size, mtimeMs, ino } = await stat(path);
    return `${size} ${mtimeMs} ${ino}`;
  } catch (cause) {
    const reason = codeOf(cause) === 'ENOENT' ? 'there is no such file' : reasonOf(cause);
    throw new DatasetError('cannot-read', `cannot read ${path}: ${reason}`, { cause });
  }
}
