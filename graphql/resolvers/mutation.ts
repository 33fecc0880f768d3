import type { MutationResolvers } from '../generated/types.ts';
import { annotate, retractAnnotations } from './annotation.ts';
import { releaseQuarantined } from './release.ts';

export const Mutation: MutationResolvers = { annotate, retractAnnotations, releaseQuarantined };
