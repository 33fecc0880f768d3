import type { VerificationResolvers } from '../generated/types.ts';

export const Verification: VerificationResolvers = {
  intact: ({ faulty }) => faulty === 0,
  counts: ({ report }) => report,
  faults: ({ report: { faults } }) => faults,
  doubtful: ({ report: { doubtful } }) => doubtful,
  foreign: ({ report: { foreign } }) => foreign,
};
