import type { WorstMoment } from '../../src/testing/cuttable-proxy.ts';

const COMMIT = /^Q commit/;

/** Where a lost connection hurts most: what was decided is durable and its decider does not know, or half of it was sent. */
const MOMENTS: Readonly<Record<string, WorstMoment>> = {
  'a commit that is not sent': { messages: [/^Q begin/, COMMIT], fate: 'unsent' },
  'a commit that is not answered': { messages: [/^Q begin/, COMMIT], fate: 'unanswered' },
  'a lease that is not answered': { messages: [/insert into lease_grants/, COMMIT], fate: 'unanswered' },
  'an acknowledgement that is not answered': { messages: [/insert into lease_acks/, COMMIT], fate: 'unanswered' },
  'an acknowledgement that is not sent': { messages: [/insert into lease_acks/, COMMIT], fate: 'unsent' },
  'records relayed and not marked': { messages: [/update outbox/], fate: 'unsent' },
  'a cursor whose move is not answered': { messages: [/update public\.cursors/, COMMIT], fate: 'unanswered' },
  'a COPY cut in half': { messages: [/^d/], fate: 'unsent' },
  'a COPY that is not answered': { messages: [/^c/], fate: 'unanswered' },
};
/** Only where the log lies in Postgres. */
const APPENDS: Readonly<Record<string, WorstMoment>> = {
  'an append that is not sent': { messages: [/^B .*log-append/], fate: 'unsent' },
  'an append that is not answered': { messages: [/^B .*log-append/], fate: 'unanswered' },
};

/** Returns the moments that come in a training over a log. */
export function worstMoments(log: 'embedded' | 'kafka'): readonly (readonly [name: string, moment: WorstMoment])[] {
  return Object.entries(log === 'embedded' ? { ...MOMENTS, ...APPENDS } : MOMENTS);
}
