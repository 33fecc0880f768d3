import type { QueryClient } from '@tanstack/react-query';
import {
  createHashHistory,
  createMemoryHistory,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
  type SearchSchemaInput,
} from '@tanstack/react-router';
import type { ReactNode } from 'react';
import {
  groupPage,
  imagesPage,
  runPage,
  trajectoryPage,
  treeOutline,
  treePage,
} from '../../graphql/studio/generated/operations.ts';
import type { Moment } from './graphql/ask.ts';
import { askAhead } from './graphql/use-ask.ts';
import { Contents } from './page/contents.tsx';
import { PageShell } from './page/page-shell.tsx';
import { heldPage, isPage } from './page/stored-page.ts';
import { Failure } from './parts/failure.tsx';
import { loadScript } from './parts/load.ts';
import { Runs } from './runs/runs.tsx';
import { Shell } from './shell/shell.tsx';
import { stepsOf } from './trajectories/steps-of.ts';

function Frame(): ReactNode {
  const page = heldPage();
  return page ? <PageShell page={page} /> : <Shell />;
}

function Home(): ReactNode {
  const page = heldPage();
  return page ? <Contents page={page} /> : <Runs />;
}

const root = createRootRouteWithContext<{ readonly queries: QueryClient }>()({
  component: Frame,
  validateSearch: texts('at'),
  search: { middlewares: [retainSearchParams(['at'])] },
  errorComponent: ({ error }) => <Failure error={error} />,
  notFoundComponent: () => <p className="empty">Nothing is at this address.</p>,
});

/** What a view begins with is asked for while its script is loaded: two ways to the server become one. */
type Ahead = (queries: QueryClient, id: string, at: Moment, tree: string | undefined) => void;

function view<const Path extends string, Module extends object, const Name extends string = never>(
  path: Path,
  load: () => Promise<Module>,
  component: keyof Module & string,
  { texts: names = [], ahead }: { readonly texts?: readonly Name[]; readonly ahead?: Ahead } = {},
) {
  return createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: texts(...names),
    loaderDeps: ({ search: { at, tree } }: { readonly search: { readonly at?: string; readonly tree?: string } }) => ({
      at: at ?? null,
      tree,
    }),
    loader: ({ context: { queries }, params, deps: { at, tree } }) =>
      ahead?.(queries, (params as { id?: string }).id ?? '', at, tree),
    component: lazyRouteComponent(
      () => loadScript(load as () => Promise<Readonly<Record<string, () => ReactNode>>>), // views take nothing
      component,
    ),
  });
}

const runs = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: texts('text', 'kind', 'state', 'environment', 'policy', 'tag', 'compare'),
  component: Home,
});
const views = [
  view('/view/run/$id', () => import('./runs/run.tsx'), 'RunPage', {
    ahead: (queries, id, at) => askAhead(queries, runPage, { id }, at),
  }),
  view('/view/images/$id', () => import('./images/images.tsx'), 'ImagesPage', {
    texts: ['order', 'step', 'tree'],
    ahead: (queries, id, at) => askAhead(queries, imagesPage, { id }, at),
  }),
  view('/view/group/$id', () => import('./groups/group.tsx'), 'GroupPage', {
    texts: ['estimator'],
    ahead: (queries, id, at) => askAhead(queries, groupPage, { id }, at),
  }),
  view('/view/trajectory/$id', () => import('./trajectories/trajectory.tsx'), 'TrajectoryPage', {
    texts: ['step', 'tab', 'tree'],
    ahead: (queries, id, at, tree) => {
      askAhead(queries, trajectoryPage, { id, tree }, at);
      void queries.prefetchInfiniteQuery(stepsOf(id, tree, at));
    },
  }),
  view('/view/tree/$id', () => import('./trees/tree.tsx'), 'TreePage', {
    texts: ['step', 'simulation', 'colour'],
    ahead: (queries, id, at) => {
      askAhead(queries, treePage, { id }, at);
      askAhead(queries, treeOutline, { id }, at);
    },
  }),
  view('/view/diff', () => import('./diff/diff.tsx'), 'DiffPage', { texts: ['a', 'b', 'aTree', 'bTree'] }),
  view('/view/compare', () => import('./compare/compare.tsx'), 'ComparePage', { texts: ['runs'] }),
  view('/view/find', () => import('./find/find.tsx'), 'FindPage', {
    texts: ['words', 'in', 'run', 'tool', 'rewarded', 'component', 'verdict', 'policy', 'version', 'termination'],
  }),
  view('/view/review', () => import('./annotations/review.tsx'), 'ReviewPage', {
    texts: ['words', 'in', 'run', 'verdict', 'from', 'until', 'fault', 'label', 'without'],
  }),
  view('/view/training', () => import('./training/training.tsx'), 'TrainingPage', {
    texts: ['policy', 'metric', 'version', 'beside'],
  }),
  view('/view/discarded', () => import('./discarded/discarded.tsx'), 'DiscardedPage', {
    texts: ['policy', 'by', 'reason'],
  }),
  view('/view/revision/$id', () => import('./revisions/revision.tsx'), 'RevisionPage', { texts: ['tree'] }),
  view('/view/data', () => import('./datasets/datasets.tsx'), 'DataPage'),
  view('/view/dataset/$id', () => import('./datasets/dataset.tsx'), 'DatasetPage'),
  view('/view/lineage/$id', () => import('./lineage/lineage.tsx'), 'LineagePage', { texts: ['tree'] }),
  view('/view/operations', () => import('./operations/operations.tsx'), 'OperationsPage'),
] as const;

/** Loads the scripts of all views before one is opened: the server may be away then. */
export async function loadViews(): Promise<void> {
  for (const { options } of views) await options.component?.preload?.();
}

/** Makes the router: every view is an address, in a page without a server one after #. */
export function makeRouter(queries: QueryClient) {
  const routeTree = root.addChildren([runs, ...views]);
  return createRouter({
    routeTree,
    context: { queries },
    defaultPreload: 'intent',
    scrollRestoration: !isPage(),
    ...historyOfPage(),
  });
}

/** A page that is a frame of a notebook has no address: its history is in memory. */
function historyOfPage() {
  const first = heldPage()?.record.first;
  if (first === undefined) return {};
  if (location.protocol === 'about:') return { history: createMemoryHistory({ initialEntries: [first] }) };
  if (location.hash === '') history.replaceState(null, '', `#${first}`);
  return { history: createHashHistory() };
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}

/** Reads parameters of an address as texts, the empty ones left out. */
function texts<Name extends string>(...names: readonly Name[]) {
  return (search: Record<string, unknown> & SearchSchemaInput): { readonly [Key in Name]?: string } => {
    const given = names.flatMap((name) => {
      const value = search[name];
      return value === undefined || value === null || value === '' ? [] : [[name, String(value)]];
    });
    return Object.fromEntries(given) as { readonly [Key in Name]?: string };
  };
}
