import type { QuarantinedRecordResolvers, SubscriptionResolvers } from '../generated/types.ts';
import { subscribeToEvents } from '../live/events.ts';

const SHOWN = 65_536; // bytes of a quarantined record

export const QuarantinedRecord: QuarantinedRecordResolvers = {
  body: ({ body }) => body.subarray(0, SHOWN).toString('utf8'),
  size: ({ body }) => body.length,
};

export const Subscription: SubscriptionResolvers = {
  events: { subscribe: (_, args, context) => subscribeToEvents(args, context) },
};
