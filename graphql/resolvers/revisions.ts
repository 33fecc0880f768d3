import { revisionTurns } from '../../src/projections/revisions/revision-turns.ts';
import { datasetFilter } from '../filters.ts';
import type { JudgementResolvers, RevisionResolvers, RevisionTurnResolvers } from '../generated/types.ts';
import { largeTextsOf } from '../large-text.ts';
import { annotationsOf } from './annotations.ts';
import { connectDatasets, scopedTo } from './lists.ts';
import { promptOf, promptOfReused } from './prompts.ts';
import { responseOf, sampledTexts, splitTexts } from './token-texts.ts';

export const Revision: RevisionResolvers = {
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  goodLeaf: ({ treeId, goodLeafStepId: id }, _, { loaders }) => loaders.step.load({ treeId, id }),
  badLeaf: ({ treeId, badLeafStepId: id }, _, { loaders }) => loaders.step.load({ treeId, id }),
  branch: ({ treeId, branchStepId: id }, _, { loaders }) => loaders.step.load({ treeId, id }),
  transition: ({ treeId, transitionStepId: id }, _, { loaders }) => loaders.step.load({ treeId, id }),
  rejectedAt: ({ treeId, atStepId: id }, _, { loaders }) => (id === null ? null : loaders.step.load({ treeId, id })),
  judgements: async ({ treeId, badLeafStepId, judge }, _, { loaders }) =>
    (await loaders.judgements.load(treeId)).filter(
      (judgement) => judgement.leafStepId === badLeafStepId && judgement.judge === judge,
    ),
  annotations: ({ id, treeId }, _, context) => annotationsOf(context, 'revision', id, treeId),
  datasets: ({ id, treeId }, args, context) =>
    connectDatasets(args, scopedTo(scopedTo(datasetFilter(args.filter), 'treeId', treeId), 'revisionId', id), context),
  turns: async (revision, _, { loaders }) => {
    const searched = await loaders.searchedTree.load(revision.treeId);
    if (!searched) return []; // the tree is not projected yet
    const { treeId, goodLeafStepId: leafStepId } = revision;
    return revisionTurns(searched.tree, revision).map((turn) => ({ ...turn, treeId, leafStepId }));
  },
};

export const RevisionTurn: RevisionTurnResolvers = {
  responseTokens: async ({ treeId, stepId, leafStepId, response }, _, context) => {
    const step = await context.loaders.step.load({ treeId, id: stepId ?? leafStepId });
    if (step === null) return null;
    const isItsOwn = stepId !== null && (await responseOf(step, context)) === response;
    return (isItsOwn ? await sampledTexts(step, context) : null) ?? splitTexts(step, response, context);
  },
  observationTokens: async ({ treeId, stepId, leafStepId, observation }, _, context) => {
    const step = await context.loaders.step.load({ treeId, id: stepId ?? leafStepId });
    return step && splitTexts(step, observation, context);
  },
};

export const Judgement: JudgementResolvers = {
  step: ({ treeId, stepId: id }, _, { loaders }) => loaders.step.load({ treeId, id }),
  prompt: ({ treeId, id, reusedFrom, promptHash }, _, context) =>
    reusedFrom === null ? promptOf(context, { treeId, id }) : promptOfReused(context, { treeId, id: reusedFrom, promptHash }),
  largeTexts: largeTextsOf,
};
