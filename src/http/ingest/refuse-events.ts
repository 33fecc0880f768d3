import { entityOf } from '../../events/entity-of.ts';
import type { Envelope } from '../../events/envelope.ts';
import { type Problem, type Reply, refuse } from '../reply.ts';

/** Why a request of events is refused as a whole, and by which status. */
const REASONS = {
  'wrong-name': [400, 'what is named by its cause has another name', 'correct the names and send all again'],
  'not-storable': [400, 'an event does not fit after its text was made storable', 'shorten or repair its text'],
  'not-owned': [403, 'an event belongs to another', 'send it with the key that opened the stream'],
  conflict: [409, 'an id belongs to another fact', 'give a new fact a new id'],
  replaced: [409, 'another producer took the run meanwhile', 'let this producer end'],
  'other-topic': [409, 'an id names a stream of another topic', 'give each its own id and send all again'],
  unknown: [422, 'events refer to what is not on record', 'append that first, parents before children'],
} as const;
export type Reason = keyof typeof REASONS;

/** Refuses a request for a reason, with what is wrong of each event. A reason that names one cause quotes the first of them. */
export function refuseEvents(reason: Reason, problems: readonly Problem[]): Reply {
  const [status, message, remedy] = REASONS[reason];
  const first = reason === 'not-owned' || reason === 'replaced' ? problems[0] : undefined;
  return refuse(status, `${first?.message ?? message}; nothing was appended`, first?.remedy ?? remedy, { problems });
}

/**
 * Describes an event whose id, or whose fact, is taken by another event of its stream with other content.
 * @param other the event that came first.
 */
export function conflictOf(
  { index, event }: { readonly index: number; readonly event: Envelope },
  other: string,
  taken: 'id' | 'fact',
): Problem {
  if (taken === 'id')
    return {
      index,
      id: event.id,
      path: 'id',
      message: `has other content than ${other} of the same id and stream`,
      remedy: 'give a new fact a new id; an event that was appended is never changed',
    };
  const entity = entityOf(event);
  return {
    index,
    id: event.id,
    path: `data.${entity?.field}`,
    message: `the ${event.type} of ${entity?.name} has other content in ${other}`,
    remedy:
      event.type === 'RewardAssigned'
        ? 'change its value by RewardRevised; another reward has an id of its own'
        : 'what is recorded of it is never changed; give another an id of its own',
  };
}

/** Answers 503 with the code `behind`: the read models are too far behind to decide, and the server is well. */
export function refuseUndecided(what: string): Reply {
  return refuse(
    503,
    `the projections are behind the log, and ${what} is not decided yet; nothing was appended`,
    'send all again; GET /v1/health says how far the projections are',
    { headers: { 'retry-after': '1' }, code: 'behind' },
  );
}
