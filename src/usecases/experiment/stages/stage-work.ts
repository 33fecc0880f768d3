import { TOPICS } from '../../../events/catalogue.ts';
import type { Platform } from '../../../platform/open-platform.ts';
import type { StageOutput } from '../../../projections/experiment-stages/read-stages.ts';
import { waitUntilProjected } from '../../../projections/wait-until.ts';
import type { PlannedStageOf } from '../declaration/experiment.ts';
import type { STAGE_FIELDS } from '../declaration/stage-fields.ts';

/** A stage that is to be done: everything that it draws follows from its key and its seed. */
export interface StageWork<Form extends keyof typeof STAGE_FIELDS> {
  readonly platform: Platform;
  readonly experimentId: string;
  readonly stage: PlannedStageOf<Form>;
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
export function usedBy(
  { stage, used }: Pick<StageWork<keyof typeof STAGE_FIELDS>, 'stage' | 'used'>,
  option: string,
): StageOutput {
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
