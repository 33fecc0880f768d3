import { open, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { sha256Hex } from '../../../digest/sha256.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { readRun } from '../../../projections/runs/read-runs.ts';
import { codeOf, DatasetError, reasonOf } from '../dataset-error.ts';
import { AgentTrajFile } from './agent-traj-drafts.ts';
import type { ParsedItem } from './agent-traj-item.ts';
import { chunkDrafts, type LinedDraft, newToRecord } from './check-against-record.ts';
import { itemOfRow } from './forms/item-of-file.ts';
import { verifiersTracesForm as form } from './forms/verifiers-traces.ts';
import { emptySurvey, NoteCounter, SkipCounter } from './import-notes.ts';
import { type ImportOptions, type ImportReport, ReportCounter, refusalOf } from './import-trajectories.ts';
import { parseJson, type RawRow } from './read-rows.ts';

export interface FollowOptions extends Pick<ImportOptions, 'source' | 'db' | 'appender' | 'badRows' | 'agentTraj' | 'signal'> {
  /** For how long nothing may come before the run ends; null: until `signal`, which leaves it open. */
  readonly idleMs: number | null;
  readonly onProgress: (progress: { readonly lines: number; readonly rollouts: number }) => void;
}

const POLL_MS = 500;
const CHUNK = 2 ** 20; // bytes per read
const LINE_LIMIT = 64 * 2 ** 20; // bytes, as of a row of a whole file
const NEWLINE = 0x0a;

/**
 * Imports `traces.jsonl` of verifiers while programs append to it: each line once its end is written. Ids derive from the first trace and
 * from the place of each among those of its task, so that a second call, of one that was stopped or killed, continues it. Trees and run
 * are open until nothing came for `idleMs`.
 * @throws DatasetError `cannot-read` also of a file that was replaced meanwhile, `bad-row`, `conflict`. What came before is on record.
 */
export async function followFile(options: FollowOptions): Promise<ImportReport> {
  const { source, signal, idleMs } = options;
  const follower = new Follower(options);
  for await (const lines of growingLines(source, idleMs, signal)) {
    signal.throwIfAborted();
    await follower.take(lines);
  }
  return follower.finish();
}

class Follower {
  readonly #options: FollowOptions;
  readonly #report = new ReportCounter(form.name);
  readonly #notes = new NoteCounter();
  readonly #skipped = new SkipCounter();
  readonly #homes = new Map<string, string>();
  #file: { readonly runId: string; readonly events: AgentTrajFile } | null = null;
  #withoutConversation = 0;
  #isOpen = false;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  async take(lines: readonly RawRow[]): Promise<void> {
    const drafts: LinedDraft[] = [];
    for (const { line, bytes } of lines) {
      if (bytes.toString('latin1').trim() === '') continue;
      const parsed = await this.#parse(bytes);
      if (parsed.kind === 'no-conversation') this.#withoutConversation += 1;
      if (parsed.kind === 'refused') this.#skip(line, parsed.reason);
      if (parsed.kind !== 'episode') continue;
      this.#notes.add(line, parsed.notes ?? []);
      if (this.#file === null) {
        this.#file = this.#begin(bytes, parsed.episode.environment);
        drafts.push({ line, draft: this.#file.events.started() });
      }
      for (const draft of this.#file.events.episode(parsed.episode)) drafts.push({ line, draft });
    }
    await this.#append(drafts);
    this.#options.onProgress({ lines: lines.at(-1)?.line ?? 0, rollouts: this.#report.rollouts });
  }

  /** Closes trees and run. */
  async finish(): Promise<ImportReport> {
    const { source } = this.#options;
    const without = `${this.#withoutConversation} lines without a conversation, ${this.#skipped.finish().rows} skipped`;
    if (this.#file === null)
      throw new DatasetError('bad-row', `${source} holds no trace that ended (${without}); nothing was imported`);
    const { events } = this.#file;
    this.#isOpen = true; // its own end is no news
    await this.#append([...events.closed(), events.finished()].map((draft) => ({ line: 1, draft })));
    return this.#report.finish({
      withoutConversation: this.#withoutConversation,
      notKept: form.notKept,
      notes: this.#notes.finish(),
      skipped: this.#skipped.finish(),
    });
  }

  async #parse(bytes: Buffer): Promise<ParsedItem> {
    const { agentTraj, badRows } = this.#options;
    const row = parseJson(bytes, 'refuse');
    if (row.kind === 'refused') return row;
    const parsed = itemOfRow(form.parse(row.value, agentTraj.environment), row.value);
    if (parsed.kind !== 'episode' || badRows === 'refuse') return parsed;
    const reason = await refusalOf(form, parsed.episode, agentTraj);
    return reason === null ? parsed : { kind: 'refused', reason };
  }

  #begin(first: Buffer, environment: string): { readonly runId: string; readonly events: AgentTrajFile } {
    const { agentTraj } = this.#options;
    const { serverFingerprint, split, policy, rewardScale, recordedAt } = agentTraj;
    const sha256 = sha256Hex(first);
    const parts = [
      agentTraj.environment ?? '',
      serverFingerprint,
      split ?? '',
      policy.policyId,
      policy.version,
      rewardScale,
      recordedAt,
    ];
    const runId = agentTraj.runId ?? derivedId('followed-run', form.importer, sha256, ...parts);
    const survey = { ...emptySurvey(sha256), environments: [environment] };
    return { runId, events: new AgentTrajFile(form, survey, { ...agentTraj, runId }) };
  }

  async #append(drafts: readonly LinedDraft[]): Promise<void> {
    const { db, source, appender } = this.#options;
    for await (const chunk of chunkDrafts(drafts)) {
      const fresh = await newToRecord(db, source, chunk, this.#homes);
      this.#report.checked(chunk, fresh);
      if (fresh.length === 0) continue;
      await this.#ensureOpen(fresh);
      this.#report.appended(fresh.length, await appender.append(fresh.map(({ draft }) => draft)));
    }
  }

  /** @throws DatasetError `conflict` where the run has ended: nothing follows the end of a run. */
  async #ensureOpen([first]: readonly LinedDraft[]): Promise<void> {
    if (this.#isOpen || this.#file === null) return;
    const { runId } = this.#file;
    if ((await readRun(this.#options.db, runId))?.finishedAt)
      throw new DatasetError(
        'conflict',
        `${this.#options.source} line ${first?.line}: run ${runId}, which followed the file, has ended; follow it into another one by --run, or import the file without --follow`,
      );
    this.#isOpen = true;
  }

  #skip(line: number, reason: string): void {
    const { source, badRows } = this.#options;
    if (badRows === 'refuse')
      throw new DatasetError(
        'bad-row',
        `${source} line ${line}: ${reason}; what is before it is imported (--skip-bad leaves such rows out)`,
      );
    this.#skipped.add(line, reason);
  }
}

/** Reads the lines of a file as they are written, whole ones only. Ends when nothing came for `idleMs`. */
async function* growingLines(path: string, idleMs: number | null, signal: AbortSignal): AsyncGenerator<readonly RawRow[]> {
  const handle = await open(path, 'r').catch((cause) => {
    throw cannotRead(path, codeOf(cause) === 'ENOENT' ? 'there is no such file' : reasonOf(cause), cause);
  });
  try {
    const { ino } = await handle.stat();
    let [at, line, idle, rest] = [0, 1, 0, Buffer.alloc(0)];
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, at).catch((cause) => {
        throw cannotRead(path, reasonOf(cause), cause);
      });
      if (bytesRead === 0) {
        const now = await stat(path).catch(() => undefined);
        if (now && (now.ino !== ino || now.size < at))
          throw cannotRead(path, 'it was replaced while it was followed; follow it again');
        if (idleMs !== null && idle >= idleMs) {
          if (rest.toString().trim() !== '') yield [{ line, bytes: rest }]; // a file need not end with a new line
          return;
        }
        await delay(POLL_MS, undefined, { signal });
        idle += POLL_MS;
        continue;
      }
      [at, idle] = [at + bytesRead, 0];
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      const lines: RawRow[] = [];
      let from = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
        lines.push({ line: line++, bytes: bytes.subarray(from, end) });
        from = end + 1;
      }
      rest = Buffer.from(bytes.subarray(from));
      if (rest.length > LINE_LIMIT) throw new DatasetError('bad-row', `${path} line ${line}: is longer than ${LINE_LIMIT} bytes`);
      if (lines.length > 0) yield lines;
    }
  } finally {
    await handle.close();
  }
}

function cannotRead(path: string, reason: string, cause?: unknown): DatasetError {
  return new DatasetError('cannot-read', `cannot read ${path}: ${reason}`, { cause });
}
