import { z } from 'zod';
import { amount, count, counter, eventData, finite, id, packedPayload, remark, treeId } from './values.ts';

const simulation = counter.describe('Number of the simulation of the search, from 0; always 0 in an imported tree.');
const asked = count.describe('Number of replies that were requested from the policy.');

export const nodeAdded = eventData('A step became a node of a search.', {
  treeId,
  stepId: id.describe('UUID of the step, which is the node.'),
  parentStepId: id.describe('UUID of the parent node.'),
  simulation,
  ordinal: count.describe('Index of the candidate among the replies sampled at the parent, from 0.'),
  score: amount.describe('Normalised score of the episode up to this node.'),
  end: z
    .enum(['none', 'terminated', 'truncated', 'disaster', 'depth'])
    .describe('What ends the search at the node: the environment, its limit, a score below 0 or the depth limit; else `none`.'),
  equivalentTo: id
    .nullable()
    .describe('UUID of the first sibling with the same action after another response; null when there is none.'),
});

/**
 * So that a search that is killed goes on with them. Only a policy that may say something else when it is asked again has them
 * recorded.
 */
export const repliesSampled = eventData(
  'A policy replied at a node of a search or a step of a chat; none of the replies is executed yet.',
  {
    treeId,
    stepId: id.describe('UUID of the node at which the replies were sampled.'),
    simulation,
    asked,
    count: count.describe('Number of replies received.'),
    policyMs: finite.min(0).describe('Time to sample the replies in milliseconds.'),
    replies: packedPayload.describe(
      'Replies as gzip of a JSON array of response, tokens, usage, finishReason, policy, call and asked.',
    ),
  },
);

export const nodeExpanded = eventData('A node of a search was expanded: all its candidates are known.', {
  treeId,
  stepId: id.describe('UUID of the node that was expanded.'),
  simulation,
  asked,
  dropped: z
    .array(
      z.strictObject({
        ordinal: count.describe('Index of the dropped candidate.'),
        sameAs: count.describe('Index of the earlier candidate with the same response.'),
      }),
    )
    .max(10_000)
    .describe('Candidates that were dropped because an earlier one has the same response.'),
  reason: remark.describe('Why candidates are missing; empty when none are.'),
});

export const valueBackedUp = eventData('A search backed up the value of a leaf along its path.', {
  treeId,
  simulation,
  leafStepId: id.describe('UUID of the leaf.'),
  value: amount.describe('Value that is added to every step of the path.'),
  path: z.array(id).min(1).max(10_000).describe('UUIDs of the steps from the root to the leaf, each of which gets one visit.'),
});
