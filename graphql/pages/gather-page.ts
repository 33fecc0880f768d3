import {
  diffSide,
  type GroupPageQuery,
  groupPage,
  pageSteps,
  pageStepsWithPrompts,
  pageSubject,
  parting,
  renderedTask,
  runComponents,
  runFailures,
  runLengths,
  runPage,
  runRevisions,
  runTrees,
  type TreeOrder,
  trajectoryPage,
  treeOutline,
  treePage,
} from '../studio/generated/operations.ts';
import { LIST_SIZES } from '../studio/list-sizes.ts';
import { hasPrompt, type PageRecord } from '../studio/page-record.ts';
import { embedImages, type ReadImage } from './embed-images.ts';
import { OperationFailed, PageDraft, type PageRequest } from './page-draft.ts';

type Rollout = NonNullable<GroupPageQuery['tree']>['rollouts'][number];

/** What a page is about: a run, a tree, or a rollout, by its id in the tree where several have it. */
export interface PageOf {
  readonly id: string;
  readonly tree: string | undefined;
}

/** What a page is gathered from. */
export interface PageSources extends PageRequest {
  readonly image: ReadImage;
  /** Where the data come from, in words. */
  readonly source: string;
  readonly madeAt: Date;
}

/** Bytes of a page's data as JSON, and of its images. */
const PAGE_BYTES = 24 * 2 ** 20;

const LISTED_TREES = 1_000;
const STEPS = 500; // of one query
const STEPS_WITH_PROMPTS = 50; // of one query: twice as many would cost more than a key may ask at once
const PROMPTS = 2_000; // steps of a page with prompts and tokens
const PARTINGS = 64; // of a group

/**
 * Gathers a page: the answers of the studio's operations about a run, a tree or a rollout, and the steps that its views read
 * one by one. @param tree the tree of a rollout whose id several trees have. @param limit bytes of the data, and of the images.
 * @returns null where nothing has the id. @throws OperationFailed.
 */
export async function gatherPage(
  { image, source, madeAt, ...asked }: PageSources,
  { id, tree }: PageOf,
  limit = PAGE_BYTES,
): Promise<PageRecord | null> {
  const draft = new PageDraft(asked, limit);
  const subject = await gatherSubject(draft, { id, tree });
  if (!subject) return null;
  const { answers, steps } = draft;
  const images = await embedImages([answers, steps], image, limit);
  draft.leaveOut('# images, for which there was no room.', images.leftOut);
  draft.leaveOut('# images that the record does not give any more.', images.missing);
  return { ...subject, madeAt: madeAt.toISOString(), source, leftOut: draft.leftOut, answers, steps };
}

async function gatherSubject(draft: PageDraft, of: PageOf): Promise<Pick<PageRecord, 'title' | 'first'> | null> {
  const { id } = of;
  const { run, tree, rollout } = await draft.read(pageSubject, { id, tree: of.tree ?? null });
  if (run) return { title: `Run ${(await gatherRun(draft, id)) || id}`, first: `/view/run/${id}` };
  if (tree && (await gatherTree(draft, id))) return { title: `Tree ${id}`, first: `/view/tree/${id}` };
  if (rollout && (await gatherTree(draft, rollout.treeId)))
    return { title: `Trajectory ${id}`, first: `/view/trajectory/${id}?tree=${rollout.treeId}` };
  const [why] = run || tree || rollout ? [] : draft.refusals; // an id that several trees have
  if (why !== undefined) throw new OperationFailed(why, 422, null);
  return null;
}

/** Gathers a run, and its trees while there is room. @returns its name. */
async function gatherRun(draft: PageDraft, id: string): Promise<string | undefined> {
  const { run } = await draft.ask(runPage, { id });
  await draft.ask(runComponents, { ids: [id] });
  await draft.ask(runFailures, { id });
  await draft.ask(runLengths, { id, first: LIST_SIZES.lengths });
  await draft.ask(runRevisions, { id, first: LIST_SIZES.revisions });
  const trees = await listTrees(draft, id, 'OPENED_ASC');
  await listTrees(draft, id, 'OPENED_DESC');
  await listTrees(draft, id, 'RETURN_VARIANCE_DESC');
  let gathered = 0;
  for (const tree of trees) {
    if (!draft.hasRoom) break;
    if (await gatherTree(draft, tree)) gathered++;
  }
  draft.leaveOut('The trajectories of # trees of the run.', (run?.totals.trees ?? 0) - gathered);
  return run?.name;
}

/** Gathers the pages of a run's list of trees. @returns the ids. */
async function listTrees(draft: PageDraft, id: string, orderBy: TreeOrder): Promise<readonly string[]> {
  const ids: string[] = [];
  const page = { id, first: LIST_SIZES.trees, orderBy };
  let { trees } = await draft.ask(runTrees, page);
  for (;;) {
    for (const each of trees.nodes.map((tree) => tree.id)) ids.push(each);
    const { hasNextPage, endCursor: after } = trees.pageInfo;
    if (!hasNextPage || after === null || ids.length >= LISTED_TREES) return ids;
    trees = (await draft.ask(runTrees, { ...page, after })).trees;
  }
}

/** Gathers all that the studio shows of a tree and its trajectories. @returns false if no tree has the id. */
async function gatherTree(draft: PageDraft, id: string): Promise<boolean> {
  const { tree } = await draft.ask(treePage, { id });
  if (!tree) return false;
  const group = await draft.ask(groupPage, { id });
  await draft.ask(renderedTask, { tree: id });
  await draft.ask(treeOutline, { id });
  for (const [i, { id: rollout }] of tree.rollouts.entries()) {
    if (!draft.hasRoom) {
      draft.leaveOut('# trajectories of trees, for which there was no room.', tree.rollouts.length - i);
      break;
    }
    await draft.ask(trajectoryPage, { id: rollout, tree: id });
    await draft.ask(diffSide, { id: rollout, tree: id });
  }
  await gatherSteps(draft, id, tree.size.steps + 1); // the root is none of them
  await gatherPartings(draft, id, group.tree?.rollouts ?? []);
  return true;
}

async function gatherSteps(draft: PageDraft, tree: string, count: number): Promise<void> {
  const withPrompts = draft.steps.filter(hasPrompt).length + count <= PROMPTS;
  const [operation, first] = withPrompts ? [pageStepsWithPrompts, STEPS_WITH_PROMPTS] : [pageSteps, STEPS];
  let gathered = 0;
  for (let after: number | undefined; ; ) {
    const steps = await draft.askSteps(operation, { tree, first, ...(after === undefined ? {} : { after }) });
    after = steps.at(-1)?.logOffset;
    gathered += steps.length;
    if (steps.length < first) break;
    if (!draft.hasRoom) {
      draft.leaveOut('# steps of trees, for which there was no room.', count - gathered);
      break;
    }
  }
  if (!withPrompts) draft.leaveOut('The prompts and tokens of # steps.', gathered);
}

/** Gathers where the rollouts of a group part from the best one. */
async function gatherPartings(draft: PageDraft, tree: string, rollouts: readonly Rollout[]): Promise<void> {
  const [best, ...others] = rollouts.toSorted((a, b) => (b.return ?? -Infinity) - (a.return ?? -Infinity));
  if (!best?.finishedAt) return;
  const ended = others.filter(({ finishedAt }) => finishedAt !== null);
  for (const { id: b } of ended.slice(0, PARTINGS)) await draft.ask(parting, { a: best.id, b, tree });
  draft.leaveOut('Where # rollouts part from the best of their group.', ended.length - PARTINGS);
}
