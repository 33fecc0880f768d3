import { skipped, type VectorCheck } from '../vector-check.ts';

/** Skips `14_*`: the exceptions that the published program dies of. They document its defects; there is no value to reproduce. */
export const publishedExceptionsCheck: VectorCheck = {
  fileName: /^14_.*\.json$/,
  *judge({ name }) {
    yield skipped(
      name,
      'documents exceptions of the published program (thresholds compared as texts, …), which ours does not raise',
    );
  },
};
