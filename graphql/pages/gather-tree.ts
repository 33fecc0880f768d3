import {
  diffPath,
  diffSide,
  groupPage,
  parting,
  renderedPath,
  renderedTask,
  stepPrompt,
  stepTokens,
  type TrajectoryPageQuery,
  trajectoryPage,
  trajectorySteps,
  treeNode,
  treeOutline,
  treePage,
} from '../studio/generated/operations.ts';
import type { PageStep } from '../studio/page-record.ts';
import type { Ask } from './ask.ts';
import { liftedQuery } from './lifted-query.ts';
import type { PageDraft } from './page-draft.ts';

type Rollout = NonNullable<TrajectoryPageQuery['rollout']>;

const STEPS = 500; // of one question
const WHOLE_STEPS = 50; // with prompts, tokens and images: twice as many would cost more than a key may ask at once
const PARTINGS = 64; // of a group

const OF_STEP = [
  { operation: trajectorySteps, at: ['trajectory', 'steps'] },
  { operation: diffPath, at: ['path'] },
  { operation: treeNode, at: ['step'] },
  { operation: renderedPath, at: ['path'] },
];
const OF_WHOLE_STEP = [...OF_STEP, { operation: stepPrompt, at: ['step'] }, { operation: stepTokens, at: ['step'] }];
const IN_TREE = `query ($id: ID!, $first: Int!, $after: SafeInt) {
  tree(id: $id) { id steps(first: $first, after: $after) { id parentId depth logOffset rolloutId ...Shown } }
}
fragment Shown on Step {}`;
const ROLLOUTS = [
  { operation: trajectoryPage, at: ['rollout'] },
  { operation: diffSide, at: ['rollout'] },
];

/** Gathers all that the studio shows of a tree and its trajectories. @returns false where no tree has the id. */
export async function gatherTree(ask: Ask, draft: PageDraft, id: string): Promise<boolean> {
  const answer = await ask(treePage, { id });
  const { tree } = answer;
  if (!tree) return false;
  draft.addAnswer(treePage, { id }, answer);
  draft.addAnswer(groupPage, { id }, await ask(groupPage, { id }));
  draft.addAnswer(renderedTask, { tree: id }, await ask(renderedTask, { tree: id }));
  const rollouts = await gatherRollouts(ask, draft, id);
  const steps = await gatherSteps(ask, draft, id, tree.size.steps);
  draft.addAnswer(treeOutline, { id }, await ask(treeOutline, { id }));
  draft.addTree(id, { steps });
  await gatherPartings(ask, draft, rollouts);
  return true;
}

async function gatherRollouts(ask: Ask, draft: PageDraft, id: string): Promise<readonly Rollout[]> {
  const query = liftedQuery('query ($id: ID!) { tree(id: $id) { id rollouts {} } }', ROLLOUTS);
  const { tree } = await ask.text<{ readonly tree: { readonly rollouts: readonly Rollout[] } | null }>(query, { id });
  for (const rollout of tree?.rollouts ?? []) {
    draft.addAnswer(trajectoryPage, { id: rollout.id }, { rollout });
    draft.addAnswer(diffSide, { id: rollout.id }, { rollout: rollout as never }); // it was asked for both
  }
  return tree?.rollouts ?? [];
}

async function gatherSteps(ask: Ask, draft: PageDraft, id: string, count: number): Promise<readonly PageStep[]> {
  const steps: PageStep[] = [];
  const whole = draft.hasRoomForWhole(count + 1);
  const first = whole ? WHOLE_STEPS : STEPS;
  const query = liftedQuery(IN_TREE, whole ? OF_WHOLE_STEP : OF_STEP);
  for (;;) {
    const after = steps.at(-1)?.logOffset;
    const { tree } = await ask.text<{ readonly tree: { readonly steps: readonly Omit<PageStep, 'whole'>[] } | null }>(query, {
      id,
      first,
      ...(after === undefined ? {} : { after }),
    });
    const found = tree?.steps ?? [];
    steps.push(...found.map((step) => ({ ...step, whole })));
    draft.weigh(found);
    if (found.length < first) break;
    if (!draft.hasRoom) {
      draft.leaveOut('# steps of trees, for which there was no room.', count + 1 - steps.length);
      break;
    }
  }
  if (!whole) draft.leaveOut('The prompts and tokens of # steps.', steps.length);
  return steps;
}

/** Where the rollouts of a group part from the best one. */
async function gatherPartings(ask: Ask, draft: PageDraft, rollouts: readonly Rollout[]): Promise<void> {
  const [best, ...others] = rollouts.toSorted((a, b) => (b.return ?? -Infinity) - (a.return ?? -Infinity));
  if (!best?.finishedAt) return;
  const ended = others.filter(({ finishedAt }) => finishedAt !== null);
  for (const { id: b } of ended.slice(0, PARTINGS))
    draft.addAnswer(parting, { a: best.id, b }, await ask(parting, { a: best.id, b }));
  draft.leaveOut('Where # rollouts part from the best of their group.', ended.length - PARTINGS);
}
