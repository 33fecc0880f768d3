import { streamOf } from '../../src/events/stream-of.ts';
import { type HistoryAtFactor as AtFactor, historyAtFactors } from '../../src/projections/images/history-at-factors.ts';
import type { HistoryImageRecord } from '../../src/projections/images/read-history-images.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import type {
  HistoryAtFactorResolvers,
  HistoryImageResolvers,
  HistorySegmentResolvers,
  RenderSpecResolvers,
} from '../generated/types.ts';
import { largeTextsOf } from '../large-text.ts';
import { forgottenStream } from '../loaders/forgotten-loaders.ts';
import { selectedFields } from '../selected-fields.ts';

/** What of a segment is known from its place in a history, without reading the segment itself. */
const OF_THE_PLACE = new Set(['id', 'place', 'hit', 'forgotten', '__typename']);

const FACTORS = 12; // of one history: each is drawn
const LARGEST = 100;

export const HistoryImage: HistoryImageResolvers = {
  url: ({ id }) => `/images/${id}.png`,
  saved: ({ textTokens, visionTokens }) => textTokens - visionTokens,
  hits: ({ length, missed }) => length - missed.length,
  misses: ({ missed }) => missed.length,
  factorChosenBy: ({ treeId, factorChosenBy: id }, _, { loaders }) => (id === null ? null : loaders.step.load({ treeId, id })),
  step: ({ treeId, stepId: id }, _, { loaders }) => loaders.step.load({ treeId, id }),
  renderSpec: ({ renderSpecId }, _, { loaders }) => loaders.renderSpec.load(renderSpecId),
  atFactors: (image, { factors }, context) => atFactors(image, factors, context),
  segments: async ({ treeId, stepId: id, length, missed }, _, { loaders }, info) => {
    loaders.segmentBudget.spend({ segments: length });
    const ids = (await loaders.history.load({ treeId, id })) ?? [];
    const whole = [...selectedFields(info).keys()].some((field) => !OF_THE_PLACE.has(field));
    const records = whole ? await Promise.all(ids.map((id) => loaders.segment.load(id))) : [];
    const drawn = new Set(missed);
    return ids.map((id, place) => ({ ...records[place], id, place, hit: !drawn.has(place) }));
  },
};

/** @throws BAD_USER_INPUT; LIMIT_EXCEEDED; FORGOTTEN; UNAVAILABLE where the record does not give the history. */
async function atFactors(
  image: HistoryImageRecord,
  factors: readonly number[],
  { sources: { db, keys, blobs }, loaders }: Context,
): Promise<readonly AtFactor[]> {
  const wrong = factors.find((factor) => !(factor >= 1 && factor <= LARGEST));
  if (wrong !== undefined || factors.length > FACTORS)
    throw refusal('BAD_USER_INPUT', `factors are ${FACTORS} numbers at most, each from 1 to ${LARGEST}`, { argument: 'factors' });
  loaders.redrawBudget.spend({ histories: factors.length });
  const drawn = await historyAtFactors({ db, keys, blobs }, image, factors);
  if (drawn.kind === 'factors') return drawn.factors;
  if (drawn.kind === 'forgotten') throw refusal('FORGOTTEN', `the image of step ${image.stepId} is forgotten: ${drawn.detail}`);
  throw refusal('UNAVAILABLE', `the history of step ${image.stepId} cannot be drawn again: ${drawn.detail}`);
}

export const HistoryAtFactor: HistoryAtFactorResolvers = {
  url: ({ imageId, factor, shown }) => `/images/${imageId}.png${shown ? '' : `?factor=${factor}`}`,
  saved: ({ textTokens, visionTokens }) => textTokens - visionTokens,
};

export const HistorySegment: HistorySegmentResolvers = {
  largeTexts: ({ blobs }) => largeTextsOf({ blobs: blobs ?? null }),
  // one that was recorded again since is there
  forgotten: async ({ id }, _, context) => {
    const stream = streamOf('SegmentRendered', { segmentId: id });
    if (stream === undefined || (await context.loaders.segment.load(id)) !== null) return false;
    return forgottenStream(context).load(stream);
  },
};

export const RenderSpec: RenderSpecResolvers = {
  // The name under which the run registered it, where one is asked; else the one that the spec itself has.
  profile: (record) => profileOf(record) ?? profileOf(record.spec),
};

function profileOf(value: unknown): string | null {
  const profile = typeof value === 'object' && value !== null && 'profile' in value ? value.profile : null;
  return typeof profile === 'string' ? profile : null;
}
