import { describePlace, parsePlace } from '../../src/projections/place.ts';
import type { Released } from '../../src/usecases/release/release-quarantined.ts';
import { type ErrorCode, refusal } from '../errors.ts';
import type { MutationResolvers } from '../generated/types.ts';

const CODES: Readonly<Record<Extract<Released, { kind: 'refused' }>['code'], ErrorCode>> = {
  forbidden: 'FORBIDDEN',
  unknown: 'NOT_ON_RECORD',
  invalid: 'BAD_USER_INPUT',
};

/** Has quarantined records released. @throws FORBIDDEN, NOT_ON_RECORD, BAD_USER_INPUT or UNAVAILABLE. */
export const releaseQuarantined: NonNullable<MutationResolvers['releaseQuarantined']> = async (
  _,
  { places: texts, reason },
  { sources, principal },
) => {
  if (!sources.release) throw refusal('UNAVAILABLE', 'this server releases nothing; ask one that `espalier up` started');
  const places = texts.map((text) => {
    const place = parsePlace(text);
    if (place) return place;
    throw refusal('BAD_USER_INPUT', `${JSON.stringify(text)} is no place; a place looks like trees.0:41`, { argument: 'places' });
  });
  const released = await sources.release({ places, reason }, principal);
  if (released.kind === 'refused') throw refusal(CODES[released.code], released.message);
  return released.outcomes.map(({ projection, place, appended, result }) => ({
    projection,
    place: describePlace(place),
    appended: appended && describePlace(appended),
    outcome: result.kind,
    reason: result.kind === 'released' ? null : result.reason,
  }));
};
