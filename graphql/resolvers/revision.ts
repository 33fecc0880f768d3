import { revisionTurns } from '../../src/projections/revisions/revision-turns.ts';
import { datasetFilter } from '../filters.ts';
import type { JudgementResolvers, RevisionResolvers, RevisionTurnResolvers } from '../generated/types.ts';
import { largeTextsOf } from '../large-text.ts';
import { annotationsOf } from './annotation.ts';
import { connectDatasets, scopedTo } from './lists.ts';
import { promptOf } from './prompt.ts';
import { responseOf, sampledTexts, splitTexts } from './token-texts.ts';

export const Revision: RevisionResolvers = {
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  goodLeaf: ({ goodLeafStepId }, _, { loaders }) => loaders.step.load(goodLeafStepId),
  badLeaf: ({ badLeafStepId }, _, { loaders }) => loaders.step.load(badLeafStepId),
  branch: ({ branchStepId }, _, { loaders }) => loaders.step.load(branchStepId),
  transition: ({ transitionStepId }, _, { loaders }) => loaders.step.load(transitionStepId),
  rejectedAt: ({ atStepId }, _, { loaders }) => (atStepId === null ? null : loaders.step.load(atStepId)),
  judgements: async ({ treeId, badLeafStepId, judge }, _, { loaders }) =>
    (await loaders.judgements.load(treeId)).filter(
      (judgement) => judgement.leafStepId === badLeafStepId && judgement.judge === judge,
    ),
  annotations: ({ id, treeId }, _, context) => annotationsOf(context, 'revision', id, treeId),
  datasets: ({ id }, args, context) => connectDatasets(args, scopedTo(datasetFilter(args.filter), 'revisionId', id), context),
  turns: async (revision, _, { loaders }) => {
    const searched = await loaders.searchedTree.load(revision.treeId);
    if (!searched) return []; // the tree is not projected yet
    return revisionTurns(searched.tree, revision)?.map((turn) => ({ ...turn, leafStepId: revision.goodLeafStepId })) ?? null;
  },
};

export const RevisionTurn: RevisionTurnResolvers = {
  responseTokens: async ({ stepId, leafStepId, response }, _, context) => {
    const step = await context.loaders.step.load(stepId ?? leafStepId);
    if (step === null) return null;
    const isItsOwn = stepId !== null && (await responseOf(step, context)) === response;
    return (isItsOwn ? await sampledTexts(step, context) : null) ?? splitTexts(step, response, context);
  },
  observationTokens: async ({ stepId, leafStepId, observation }, _, context) => {
    const step = await context.loaders.step.load(stepId ?? leafStepId);
    return step && splitTexts(step, observation, context);
  },
};

export const Judgement: JudgementResolvers = {
  step: ({ stepId }, _, { loaders }) => loaders.step.load(stepId),
  prompt: ({ id, reusedFrom }, _, context) => promptOf(context, reusedFrom ?? id),
  largeTexts: largeTextsOf,
};
