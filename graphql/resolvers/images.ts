import { streamOf } from '../../src/events/stream-of.ts';
import type { HistoryImageResolvers, HistorySegmentResolvers, RenderSpecResolvers } from '../generated/types.ts';
import { largeTextsOf } from '../large-text.ts';
import { forgottenStream } from '../loaders/forgotten-loaders.ts';
import { selectedFields } from '../selected-fields.ts';

/** What of a segment is known from its place in a history, without reading the segment itself. */
const OF_THE_PLACE = new Set(['id', 'place', 'hit', 'forgotten', '__typename']);

export const HistoryImage: HistoryImageResolvers = {
  url: ({ id }) => `/images/${id}.png`,
  saved: ({ textTokens, visionTokens }) => textTokens - visionTokens,
  hits: ({ length, missed }) => length - missed.length,
  misses: ({ missed }) => missed.length,
  factorChosenBy: ({ factorChosenBy }, _, { loaders }) => (factorChosenBy === null ? null : loaders.step.load(factorChosenBy)),
  renderSpec: ({ renderSpecId }, _, { loaders }) => loaders.renderSpec.load(renderSpecId),
  segments: async ({ stepId, length, missed }, _, { loaders }, info) => {
    loaders.segmentBudget.spend(length);
    const ids = (await loaders.history.load(stepId)) ?? [];
    const whole = [...selectedFields(info).keys()].some((field) => !OF_THE_PLACE.has(field));
    const records = whole ? await Promise.all(ids.map((id) => loaders.segment.load(id))) : [];
    const drawn = new Set(missed);
    return ids.map((id, place) => ({ ...records[place], id, place, hit: !drawn.has(place) }));
  },
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
