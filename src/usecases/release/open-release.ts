import type { EventLog } from '../../log/event-log.ts';
import type { Database } from '../../postgres/database.ts';
import { may, type Principal } from '../../postgres/principal.ts';
import { describePlace, type LogPlace } from '../../projections/place.ts';
import { findWaiting } from '../../projections/read-waiting.ts';
import { asSeenBy } from '../../projections/visible/see-projects.ts';
import { createExclusive } from '../../runtime/exclusive.ts';
import { type ReleaseOutcome, releaseQuarantined } from './release-quarantined.ts';

export interface ReleaseAsked {
  readonly places: readonly LogPlace[];
  /** Why they are released, for the record; empty without a reason. */
  readonly reason: string;
}

export type Released =
  | { readonly kind: 'done'; readonly outcomes: readonly ReleaseOutcome[] }
  | { readonly kind: 'refused'; readonly code: 'forbidden' | 'unknown' | 'invalid'; readonly message: string };

/** Releases what waits at some places, for who asks: nothing where one of them is refused. */
export type Release = (asked: ReleaseAsked, principal: Principal) => Promise<Released>;

/** Places of one call. */
export const RELEASE_LIMIT = 50;
const REASON_LIMIT = 2_000; // characters
const FOLDED_MS = 10_000; // for all places of a call together; what is not folded then is on record and reported as pending

/**
 * Opens the release of quarantined records for callers of the API. It takes the scope `admin`: a release changes what every
 * reader sees. Who sees some projects releases what belongs to them. Calls run one after another: nothing is released twice.
 */
export function openRelease(parts: { readonly log: EventLog; readonly database: Database }): Release {
  const exclusive = createExclusive();

  async function release({ places, reason }: ReleaseAsked, principal: Principal): Promise<Released> {
    const waiting = new Set((await findWaiting(asSeenBy(parts.database.db, principal), places)).map(describePlace));
    const unknown = places.find((place) => !waiting.has(describePlace(place)));
    if (unknown) return refused('unknown', `nothing waits in quarantine at ${describePlace(unknown)}; nothing was released`);
    const until = Date.now() + FOLDED_MS;
    const outcomes: ReleaseOutcome[] = [];
    for (const place of places) {
      const timeoutMs = Math.max(100, until - Date.now());
      const signal = new AbortController().signal;
      const options = { place, reason: reason === '' ? null : reason, clock: Date.now, timeoutMs, signal };
      outcomes.push(...(await releaseQuarantined(parts, options)));
    }
    return { kind: 'done', outcomes };
  }

  return async (asked, principal) => {
    if (!may(principal, 'admin'))
      return refused(
        'forbidden',
        `the key ${JSON.stringify(principal.name)} has the scopes ${principal.scopes.join(', ') || 'none'}; releasing from quarantine needs admin: make a key with \`espalier keys create --name NAME --scopes admin\``,
      );
    const { places, reason } = asked;
    if (places.length < 1 || places.length > RELEASE_LIMIT)
      return refused('invalid', `a call releases 1 to ${RELEASE_LIMIT} places, not ${places.length}; send them in several calls`);
    if (new Set(places.map(describePlace)).size < places.length)
      return refused('invalid', 'a place is named twice; name each once');
    if (reason.length > REASON_LIMIT || !reason.isWellFormed() || reason.includes('\0'))
      return refused('invalid', `a reason is a text of ${REASON_LIMIT} characters at most`);
    return exclusive.run(['release'], () => release(asked, principal));
  };
}

function refused(code: Extract<Released, { kind: 'refused' }>['code'], message: string): Released {
  return { kind: 'refused', code, message };
}
