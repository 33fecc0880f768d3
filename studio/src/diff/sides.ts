import type { DiffPathQuery, DiffSideQuery } from '../../../graphql/studio/generated/operations.ts';

/** A step as a diff shows it; of a replayed one what came out otherwise. */
export type Step = DiffPathQuery['path'][number] & { readonly notes?: readonly string[] };
export type Side = NonNullable<DiffSideQuery['rollout']>;
export type Names = readonly [string, string]; // of the two sides, where one is below the other
