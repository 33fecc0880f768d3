import { textReader } from '../../blobs/read-text.ts';
import { cutText } from '../../domain/text/cut-text.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { newId } from '../../events/new-id.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { isForgotten } from '../../postgres/stream-keys.ts';
import { checkPrompts } from '../../projections/prompts/check-prompts.ts';

export type ReplayMode = DataOf<'ReplayFinished'>['mode'];
export type Difference = DataOf<'ReplayFinished'>['differences'][number];

/** What a replay found. */
export interface ReplayReport {
  readonly mode: ReplayMode;
  readonly outcome: 'equal' | 'differs';
  /** How many things were compared. */
  readonly compared: number;
  readonly differing: number;
  /** The first that differ. */
  readonly differences: readonly Difference[];
  readonly notes: readonly string[];
}

/** One part of something that is compared as a whole. */
export interface ComparedPart {
  readonly at: Pick<Difference, 'eventId' | 'stepId' | 'field'>;
  readonly recorded: unknown;
  readonly replayed: unknown;
}

const SHOWN = 20;
const TEXT_LIMIT = 2_000;

/** Counts what is compared and keeps the first differences. */
export class Comparison {
  readonly #mode: ReplayMode;
  readonly #differences: Difference[] = [];
  readonly #notes: string[] = [];
  #compared = 0;
  #differing = 0;

  constructor(mode: ReplayMode) {
    this.#mode = mode;
  }

  get compared(): number {
    return this.#compared;
  }

  get differing(): number {
    return this.#differing;
  }

  /** Compares one value; texts as stored, numbers to the last bit. */
  compare(at: Pick<Difference, 'eventId' | 'stepId' | 'field'>, recorded: unknown, replayed: unknown): boolean {
    this.#compared++;
    const [before, after] = [shown(recorded), shown(replayed)];
    if (before === after) return true;
    this.#differing++;
    if (this.#differences.length < SHOWN)
      this.#differences.push({ ...at, recorded: cutText(before, TEXT_LIMIT), replayed: cutText(after, TEXT_LIMIT) });
    return false;
  }

  /** Compares the parts of one thing: it counts as one, and every part that differs is reported. */
  compareParts(parts: readonly ComparedPart[]): boolean {
    this.#compared++;
    const differing = parts.filter(({ recorded, replayed }) => shown(recorded) !== shown(replayed));
    if (differing.length === 0) return true;
    this.#differing++;
    for (const { at, recorded, replayed } of differing.slice(0, SHOWN - this.#differences.length))
      this.#differences.push({
        ...at,
        recorded: cutText(shown(recorded), TEXT_LIMIT),
        replayed: cutText(shown(replayed), TEXT_LIMIT),
      });
    return false;
  }

  /** Notes something that a reader should know besides the differences. */
  note(text: string): void {
    const said = cutText(text, TEXT_LIMIT);
    if (this.#notes.length < SHOWN && !this.#notes.includes(said)) this.#notes.push(said);
  }

  report(): ReplayReport {
    return {
      mode: this.#mode,
      outcome: this.#differing === 0 ? 'equal' : 'differs',
      compared: this.#compared,
      differing: this.#differing,
      differences: this.#differences,
      notes: this.#notes,
    };
  }
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : (JSON.stringify(value) ?? 'nothing');
}

/** Puts on record what a replay of a run found; returns its id. The read models must have caught up with the log. */
export async function recordReplay(
  platform: Platform,
  {
    runId,
    report,
    parameters,
    seconds,
    replayId = newId(),
  }: {
    readonly runId: string;
    /** Given, the replay is on record once, however often it is said. */
    readonly replayId?: string;
    readonly report: ReplayReport;
    readonly parameters: Readonly<Record<string, unknown>>;
    readonly seconds: number;
  },
): Promise<string> {
  const { differences, notes, ...found } = report;
  const reported = { ...found, differences: [...differences], notes: [...notes], seconds: Math.round(seconds) };
  await openAppender(platform, 'replayer').append([
    {
      type: 'ReplayFinished',
      id: derivedId('ReplayFinished', replayId),
      correlationId: runId,
      data: { runId, replayId, ...reported, parameters, codeVersion: CODE_VERSION },
    },
  ]);
  return replayId;
}

/**
 * Puts the prompts of a tree together again and compares them with what was sent, by their digests; a difference names the step.
 * Those of a tree whose payload is forgotten are not compared.
 */
export async function comparePrompts({ database, blobs }: Platform, treeId: string, comparison: Comparison): Promise<void> {
  if (await isForgotten(database.db, treeId)) return;
  const text = textReader(blobs);
  const payloads = {
    text: ({ blob }: { readonly blob: string }) => text(blob),
    bytes: ({ blob }: { readonly blob: string }) => blobs.get(blob),
  };
  for (const { id, sha256, fault } of await checkPrompts(database.db, treeId, payloads))
    comparison.compare({ eventId: null, stepId: id, field: 'prompt' }, sha256, fault ?? sha256);
}
