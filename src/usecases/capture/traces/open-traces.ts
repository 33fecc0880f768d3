import type { Db } from '../../../postgres/database.ts';
import { nameOfWaiting, readWaitingRollouts } from '../../../projections/held-spans/read-waiting.ts';
import { isPassingFault } from '../../../projections/passing-fault.ts';
import { createExclusive } from '../../../runtime/exclusive.ts';
import { CaptureRefused, NotRecorded } from '../capture-errors.ts';
import type { Capture } from '../open-capture.ts';
import { readSenders } from '../senders.ts';

export interface TracesWorld {
  readonly db: Db;
  readonly capture: Capture;
}

/** How long no span of a rollout must have arrived before those that did are placed: where its end arrived, and where not. */
export interface Quiet {
  readonly endedMs: number;
  readonly openMs: number;
}

/** Exporters send every five seconds, and again what was not accepted. */
export const QUIET: Quiet = { endedMs: 10_000, openMs: 120_000 };

export interface Traces {
  /**
   * Places what waits and is quiet. Returns why some of it cannot be placed, each once: what is refused is left out from then on,
   * and what failed is tried again. @throws what passes without us, an outage: nothing else would be placed either.
   */
  place(quiet: Quiet): Promise<readonly string[]>;
}

/** Opens the placing of spans that wait, which the record knows: a server that is started goes on with them. */
export function openTraces({ db, capture }: TracesWorld): Traces {
  const exclusive = createExclusive();
  const refused = new Set<string>();
  const failed = new Map<string, string>(); // by name, what was said of it
  return {
    place: (quiet) =>
      exclusive.run(['place'], async () => {
        const said: string[] = [];
        const waitingNow = await readWaitingRollouts(db, { except: [...refused] });
        const senderOf = await readSenders(db, waitingNow);
        for (const waiting of waitingNow) {
          const quietMs = Date.now() - waiting.lastAt.getTime();
          if (quietMs < (waiting.ends ? quiet.endedMs : quiet.openMs)) continue;
          try {
            // the run may have been opened by another since the spans arrived
            await capture.placeSpans(waiting, senderOf(waiting));
            failed.delete(nameOfWaiting(waiting));
          } catch (error) {
            const name = nameOfWaiting(waiting);
            const spans = `the spans of rollout ${waiting.rollout} of run ${waiting.run}`;
            if (error instanceof CaptureRefused) {
              refused.add(name); // until the server is started again
              said.push(`${spans} are no steps: ${error.message}; ${error.remedy}`);
              continue;
            }
            if (isPassingFault(error instanceof NotRecorded ? error.cause : error)) throw error;
            const why = `${spans} wait to be placed: ${error instanceof Error ? error.message : String(error)}`;
            if (failed.get(name) !== why) said.push(why);
            failed.set(name, why);
          }
        }
        return said;
      }),
  };
}
