import type { z } from 'zod';
import { TOPICS } from '../../../events/catalogue.ts';
import type { Platform } from '../../../platform/open-platform.ts';
import type { StageOutput } from '../../../projections/experiment-stages/read-stages.ts';
import { waitUntilProjected } from '../../../projections/wait-until.ts';

/** Refuses what is declared at a path. @throws ExperimentRefused. */
export type Refuse = (path: readonly string[], message: string, remedy: string) => never;

/** Everything that is particular to one kind of stage; training on a released file is a form of its own. */
export interface StageForm<Fields extends z.ZodObject = z.ZodObject> {
  /** What it takes. */
  readonly fields: Fields;
  /** The kinds of stages that its options may name, by the option. */
  readonly uses: Readonly<Record<string, readonly string[]>>;
  /** What its draws follow from, with the seed of the repetition: its name, its kind whatever its name, or nothing is drawn. */
  readonly seededBy: 'name' | 'kind' | 'nothing';
  /** Refuses what a run would only refuse when the stages before it are done. */
  check?(options: z.output<Fields>, refuse: Refuse): void;
  /**
   * Does its work. Every id follows from its key: who does it again after a kill goes on where the record ends, and comes to the
   * same. @throws what the use case throws; what the signal aborts with.
   */
  run(work: StageWork<z.output<Fields>>): Promise<StageOutput>;
  /** Makes again what it left on this machine, where it is gone. Returns '' where it is there, else what became of it. */
  restore?(work: StageWork<z.output<Fields>>, output: StageOutput): Promise<string>;
}

/** Returns a form whose functions get what its fields parse. */
export function stageForm<Fields extends z.ZodObject>(form: StageForm<Fields>): StageForm<Fields> {
  return form;
}

/** A stage that is to be done: everything that it draws follows from its key and its seed. */
export interface StageWork<Options = Record<string, unknown>> {
  readonly platform: Platform;
  readonly experimentId: string;
  readonly stage: { readonly name: string; readonly options: Options };
  readonly key: string;
  readonly seed: number;
  /** What the stages that it uses came to, by the option that names them. */
  readonly used: Readonly<Record<string, StageOutput>>;
  readonly concurrency: number;
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
  /** Stages of other arms go on at the same time: what appends to the streams of a run takes turns under its id. */
  readonly turns: Turns;
}

/** Refuses a text that a parser throws at; what is no text names a stage. */
export function refuseText(field: string, value: unknown, parse: (text: string) => unknown, refuse: Refuse): void {
  if (typeof value !== 'string') return;
  try {
    parse(value);
  } catch (error) {
    refuse([field], error instanceof Error ? error.message : String(error), 'correct it');
  }
}

const CATCH_UP_MS = 120_000;

/** Waits until the read models hold everything that was appended. */
export async function settle({ database, log }: Platform, signal?: AbortSignal): Promise<void> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, ...(signal ? { signal } : {}) });
}

/** An output of nothing but what is named. */
export function outputOf(part: Pick<StageOutput, 'digest'> & Partial<StageOutput>): StageOutput {
  return { runIds: [], datasetId: null, policy: null, judge: null, kept: null, values: {}, trained: null, ...part };
}

/** The outcome of the stage that an option names. The declaration was checked: it is there. */
export function usedBy({ stage, used }: Pick<StageWork, 'stage' | 'used'>, option: string): StageOutput {
  const found = used[option];
  if (!found) throw new RangeError(`stage ${stage.name} names nothing by ${option}`);
  return found;
}

export function numbers(values: Readonly<Record<string, number | null | undefined>>): Readonly<Record<string, number>> {
  const entries = Object.entries(values).flatMap(([name, value]): [string, number][] =>
    typeof value === 'number' && Number.isFinite(value) ? [[name, value]] : [],
  );
  return Object.fromEntries(entries);
}

/** Does works of one name one after another, those of different names at the same time. */
export type Turns = <T>(name: string, work: () => Promise<T>) => Promise<T>;

/** Opens turns: a work begins when those of its name that were handed in before it have ended, in whatever way. */
export function openTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const turn = (last.get(name) ?? Promise.resolve()).then(work, work);
    const ended = turn.then(
      () => undefined,
      () => undefined,
    );
    last.set(name, ended);
    try {
      return await turn;
    } finally {
      if (last.get(name) === ended) last.delete(name);
    }
  };
}
