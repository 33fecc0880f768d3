import type { Db } from '../../../postgres/database.ts';
import { localPrincipal, type Principal } from '../../../postgres/principal.ts';
import { readWaitingRollouts, type WaitingRollout } from '../../../projections/held-spans/read-waiting.ts';
import { createExclusive } from '../../../runtime/exclusive.ts';
import { CaptureRefused } from '../capture-errors.ts';
import type { Capture } from '../open-capture.ts';

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
  /** Places what waits and is quiet. Returns why some of it cannot be placed, each once. */
  place(quiet: Quiet): Promise<readonly string[]>;
}

/** Opens the placing of spans that wait, which the record knows: a server that is started goes on with them. */
export function openTraces({ db, capture }: TracesWorld): Traces {
  const exclusive = createExclusive();
  const refused = new Set<string>();
  return {
    place: (quiet) =>
      exclusive.run(['place'], async () => {
        const said: string[] = [];
        for (const waiting of await readWaitingRollouts(db)) {
          const quietMs = Date.now() - waiting.lastAt.getTime();
          if (refused.has(waiting.rolloutId) || quietMs < (waiting.ends ? quiet.endedMs : quiet.openMs)) continue;
          try {
            await capture.placeSpans(waiting, principalOf(waiting));
          } catch (error) {
            if (!(error instanceof CaptureRefused)) throw error;
            refused.add(waiting.rolloutId); // until the server is started again
            said.push(
              `the spans of rollout ${waiting.rollout} of run ${waiting.run} are no steps: ${error.message}; ${error.remedy}`,
            );
          }
        }
        return said;
      }),
  };
}

/** Who sent the spans: what they may not record was refused when they arrived. */
function principalOf({ principal, project }: WaitingRollout): Principal {
  return { ...localPrincipal(project), principal: principal as Principal['principal'] }; // as the stamp of an event has it
}
