import type { MutationResolvers } from '../generated/types.ts';
import { annotate, giveFeedback, retractAnnotations } from './annotations.ts';
import { requeue } from './quarantine.ts';

export const Mutation: MutationResolvers = { annotate, retractAnnotations, giveFeedback, requeue };
