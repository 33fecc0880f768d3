import {
  type RunTreesQuery,
  runComponents,
  runFailures,
  runLengths,
  runPage,
  runRevisions,
  runTrees,
} from '../studio/generated/operations.ts';
import type { Ask } from './ask.ts';
import { gatherTree } from './gather-tree.ts';
import type { PageDraft } from './page-draft.ts';

const TREES = 60; // of one question
const LISTED = 1_000; // trees of a run
const LENGTHS = 300; // as the view of a run draws them
const REVISIONS = 50; // as the view of a run lists them

/** Gathers what the studio shows of a run, and of its trees while there is room. @returns its name; null where there is none. */
export async function gatherRun(ask: Ask, draft: PageDraft, id: string): Promise<string | null> {
  const answer = await ask(runPage, { id });
  if (!answer.run) return null;
  draft.addAnswer(runPage, { id }, answer);
  draft.addAnswer(runComponents, { ids: [id] }, await ask(runComponents, { ids: [id] }));
  draft.addAnswer(runFailures, { id }, await ask(runFailures, { id }));
  draft.addAnswer(runLengths, { id, first: LENGTHS }, await ask(runLengths, { id, first: LENGTHS }));
  draft.addAnswer(runRevisions, { id, first: REVISIONS }, await ask(runRevisions, { id, first: REVISIONS }));
  const trees = await listTrees(ask, draft, id);
  let held = 0;
  for (const tree of trees) {
    if (!draft.hasRoom) break;
    if (await gatherTree(ask, draft, tree.id)) held++;
  }
  draft.leaveOut('The trajectories of # trees of the run.', trees.length - held);
  return answer.run.name;
}

async function listTrees(ask: Ask, draft: PageDraft, id: string): Promise<RunTreesQuery['trees']['nodes']> {
  const listed: RunTreesQuery['trees']['nodes'][number][] = [];
  let after: string | null | undefined;
  for (;;) {
    const { trees } = await ask(runTrees, { id, first: TREES, orderBy: 'OPENED_ASC', ...(after ? { after } : {}) });
    listed.push(...trees.nodes);
    after = trees.pageInfo.endCursor;
    if (trees.pageInfo.hasNextPage && after && listed.length < LISTED) continue;
    draft.leaveOut('# trees of the run.', trees.totalCount - listed.length);
    draft.runTrees[id] = listed;
    draft.weigh(listed);
    return listed;
  }
}
