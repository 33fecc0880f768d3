import type { WorstMoment } from '../../src/testing/cuttable-proxy.ts';

const COMMIT = /^Q commit/;
// Bound to lease_service_decide, which is a transaction of its own: the notes of decide.ts.
const LEASED = /^B .*"ordinal":\d+,"fence":/s;
const ACKNOWLEDGED = /^B .*"ordinal":\d+,"lease_id":/s;

/** Where a lost connection hurts most: what was decided is durable and its decider does not know, or half of it was sent. */
const MOMENTS: Readonly<Record<string, WorstMoment>> = {
  'a commit that is not sent': { messages: [/^Q begin/, COMMIT], fate: 'unsent' },
  'a commit that is not answered': { messages: [/^Q begin/, COMMIT], fate: 'unanswered' },
  'a lease that is not answered': { messages: [LEASED], fate: 'unanswered' },
  'a lease that is not sent': { messages: [LEASED], fate: 'unsent' },
  'an acknowledgement that is not answered': { messages: [ACKNOWLEDGED], fate: 'unanswered' },
  'an acknowledgement that is not sent': { messages: [ACKNOWLEDGED], fate: 'unsent' },
  'a cursor whose move is not answered': { messages: [/update public\.cursors/, COMMIT], fate: 'unanswered' },
  'a COPY cut in half': { messages: [/^d/], fate: 'unsent' },
  'a COPY that is not answered': { messages: [/^c/], fate: 'unanswered' },
};
/** Only where the log lies in Postgres. */
const APPENDS: Readonly<Record<string, WorstMoment>> = {
  'an append that is not sent': { messages: [/^B .*log_write/], fate: 'unsent' },
  'an append that is not answered': { messages: [/^B .*log_write/], fate: 'unanswered' },
};

/** Only where it lies elsewhere: what the lease service decides is relayed. */
const RELAYED: Readonly<Record<string, WorstMoment>> = {
  'records relayed and not marked': { messages: [/update outbox/], fate: 'unsent' },
};

/** Returns the moments that come in a training over a log. */
export function worstMoments(log: 'embedded' | 'kafka'): readonly (readonly [name: string, moment: WorstMoment])[] {
  return Object.entries({ ...MOMENTS, ...(log === 'embedded' ? APPENDS : RELAYED) });
}
