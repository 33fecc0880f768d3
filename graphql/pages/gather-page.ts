import type { PageRecord } from '../studio/page-record.ts';
import type { Ask } from './ask.ts';
import { embedImages, type ReadImage } from './embed-images.ts';
import { gatherRun } from './gather-run.ts';
import { gatherTree } from './gather-tree.ts';
import { PAGE_LIMITS, PageDraft, type PageLimits } from './page-draft.ts';

/** What a page shows. */
export type PageKind = 'run' | 'tree' | 'trajectory';

/** What a page is gathered from. */
export interface PageSources {
  readonly ask: Ask;
  readonly image: ReadImage;
  /** Where the data come from, in words. */
  readonly source: string;
  readonly now: () => Date;
}

/** Gathers the data of a page. @returns null where nothing of the kind has the id. @throws NoAnswer. */
export async function gatherPage(
  { ask, image, source, now }: PageSources,
  { kind, id }: { readonly kind: PageKind; readonly id: string },
  limits: PageLimits = PAGE_LIMITS,
): Promise<PageRecord | null> {
  const draft = new PageDraft(limits);
  const found = await gather(ask, draft, kind, id);
  if (!found) return null;
  const images = await embedImages(draft, image, limits.imageBytes);
  draft.leaveOut('# images, for which there was no room.', images.leftOut);
  draft.leaveOut('# images that the record does not give any more.', images.missing);
  for (const [what, places] of ask.lost) draft.leaveOut(`Not read, in # places: ${what}`, places);
  return draft.record({ ...found, madeAt: now().toISOString(), source });
}

async function gather(
  ask: Ask,
  draft: PageDraft,
  kind: PageKind,
  id: string,
): Promise<Pick<PageRecord, 'title' | 'first'> | null> {
  if (kind === 'run') {
    const name = await gatherRun(ask, draft, id);
    return name === null ? null : { title: `Run ${name || id}`, first: `/view/run/${id}` };
  }
  const tree = kind === 'tree' ? id : await treeOf(ask, id);
  if (tree === null || !(await gatherTree(ask, draft, tree))) return null;
  const first = kind === 'tree' ? `/view/tree/${id}` : `/view/trajectory/${id}`;
  return { title: kind === 'tree' ? `Tree ${id}` : `Trajectory ${id}`, first };
}

async function treeOf(ask: Ask, rollout: string): Promise<string | null> {
  const query = 'query ($id: ID!) { rollout(id: $id) { treeId } }';
  const found = await ask.text<{ readonly rollout: { readonly treeId: string } | null }>(query, { id: rollout });
  return found.rollout?.treeId ?? null;
}

/** Finds out what an id names. @returns null where it names no run, tree or rollout. */
export async function pageKindOf(ask: Ask, id: string): Promise<PageKind | null> {
  const query = 'query ($id: ID!) { run(id: $id) { id } tree(id: $id) { id } rollout(id: $id) { id } }';
  const found = await ask.text<Readonly<Record<'run' | 'tree' | 'rollout', object | null>>>(query, { id });
  return found.run ? 'run' : found.tree ? 'tree' : found.rollout ? 'trajectory' : null;
}
