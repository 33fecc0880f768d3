import { describePlace, parsePlace } from '../../src/projections/place.ts';
import type { RequeueReply } from '../../src/usecases/requeue/requeue-events.ts';
import { type ErrorCode, refusal } from '../errors.ts';
import type { MutationResolvers } from '../generated/types.ts';

const CODES: Readonly<Record<Extract<RequeueReply, { kind: 'refused' }>['code'], ErrorCode>> = {
  forbidden: 'FORBIDDEN',
  unknown: 'NOT_ON_RECORD',
  invalid: 'BAD_USER_INPUT',
};

/** Requeues quarantined records. @throws FORBIDDEN, NOT_ON_RECORD, BAD_USER_INPUT or UNAVAILABLE. */
export const requeue: NonNullable<MutationResolvers['requeue']> = async (
  _,
  { places: texts, reason },
  { sources, principal },
) => {
  if (!sources.requeue) throw refusal('UNAVAILABLE', 'this server cannot requeue events; use one that `espalier up` started');
  const places = texts.map((text) => {
    const place = parsePlace(text);
    if (place) return place;
    throw refusal('BAD_USER_INPUT', `${JSON.stringify(text)} is no place; a place looks like trees.0:41`, { argument: 'places' });
  });
  const reply = await sources.requeue({ places, reason }, principal);
  if (reply.kind === 'refused') throw refusal(CODES[reply.code], reply.message);
  return reply.outcomes.map(({ projection, place, appended, result }) => ({
    projection,
    place: describePlace(place),
    appended: appended && describePlace(appended),
    outcome: result.kind,
    reason: result.kind === 'requeued' ? null : result.reason,
  }));
};
