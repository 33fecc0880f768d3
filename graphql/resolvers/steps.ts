import { keyInTree } from '../../src/projections/of-tree.ts';
import { refusal } from '../errors.ts';
import type {
  PackedArrayResolvers,
  RewardResolvers,
  SearchStatisticsResolvers,
  StepResolvers,
  ToolCallResolvers,
} from '../generated/types.ts';
import { largeTextsOf } from '../large-text.ts';
import { forgottenStream } from '../loaders/forgotten-loaders.ts';
import { annotationsOf } from './annotations.ts';
import { callOfStep } from './calls.ts';
import { readPath } from './paths.ts';
import { picturesOfStep } from './pictures.ts';
import { hasPrompt, promptOf } from './prompts.ts';
import { ofComponent } from './rollouts.ts';
import { tokenTexts } from './token-texts.ts';

/** Only relations: a step's own fields are its properties, which the executor reads without a call or a promise. */
export const Step: StepResolvers = {
  tree: ({ treeId }, _, { loaders }) => loaders.tree.load(treeId),
  forgotten: ({ treeId }, _, context) => forgottenStream(context).load(treeId),
  parent: ({ treeId, parentId: id }, _, { loaders }) => (id === null ? null : loaders.step.load({ treeId, id })),
  children: ({ id, treeId }, _, { loaders }) => loaders.children.load({ id, treeId }),
  path: ({ id, treeId }, part, context) => readPath({ id, treeId }, part, context),
  rollout: ({ treeId, rolloutId: id }, _, { loaders }) => (id === null ? null : loaders.rollout.load({ treeId, id })),
  rewards: ({ id, treeId }, { component }, { loaders }) => {
    const rewards = loaders.rewardsOfStep.of({ id, treeId });
    return rewards instanceof Promise
      ? rewards.then((loaded) => ofComponent(loaded, component))
      : ofComponent(rewards, component);
  },
  statistics: ({ id, treeId }, { asOfSimulation }, { loaders }) => {
    const simulations = asOfSimulation ?? null;
    if (simulations !== null && simulations < 0)
      throw refusal('BAD_USER_INPUT', `asOfSimulation must be 0 or more, not ${simulations}`, { argument: 'asOfSimulation' });
    return loaders.statistics.of(id, { treeId, simulations });
  },
  toolCalls: ({ id, treeId }, _, { loaders }) => loaders.toolCalls.of({ id, treeId }),
  pictures: ({ id, treeId }, _, context) => picturesOfStep(context, { id, treeId }),
  historyImage: ({ id, treeId }, _, { loaders }) => {
    const images = loaders.historyImage.of({ id, treeId });
    return images instanceof Promise ? images.then(([image]) => image ?? null) : (images[0] ?? null);
  },
  prompt: ({ id, treeId }, _, context) => promptOf(context, { id, treeId }),
  hasPrompt: ({ id, treeId }, _, context) => hasPrompt(context, { id, treeId }),
  annotations: ({ id, treeId }, _, context) => annotationsOf(context, 'step', id, treeId),
  estimate: async ({ id, treeId, rolloutId }, { rewards }, { loaders }) => {
    const sample = rolloutId === null ? null : await loaders.sample.load({ treeId, id: rolloutId });
    if (sample?.batchId == null) return null;
    const { ofStep } = await loaders.estimatesOfGroup.load({ batchId: sample.batchId, treeId, rewards });
    return ofStep.get(keyInTree(treeId, id)) ?? null;
  },
  captured: ({ id, treeId }, _, context) => callOfStep({ id, treeId }, context),
  tokenTexts: (step, _, context) => tokenTexts(step, context),
  forks: async ({ id, treeId }, _, { loaders }) => (await loaders.forksOfStep.load({ id, treeId })).map(({ run }) => run),
  divergences: async ({ id, treeId }, _, { loaders }) =>
    (await loaders.divergences.load(treeId)).filter(({ stepId }) => stepId === id),
  largeTexts: largeTextsOf,
};

export const SearchStatistics: SearchStatisticsResolvers = { value: ({ visits, valueSum }) => valueSum / visits };

export const ToolCall: ToolCallResolvers = { largeTexts: largeTextsOf };

export const PackedArray: PackedArrayResolvers = {
  base64: async ({ bytes }, _, { texts }) =>
    typeof bytes === 'string' ? bytes : Buffer.from(await texts.bytes(bytes)).toString('base64'),
};

export const Reward: RewardResolvers = {
  revisions: ({ id, treeId }, _, { loaders }) => loaders.rewardRevisions.load({ id, treeId }),
};
