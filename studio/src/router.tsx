import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from '@tanstack/react-router';
import {
  groupPage,
  imagesPage,
  runPage,
  trajectoryPage,
  treeOutline,
  treePage,
} from '../../graphql/studio/generated/operations.ts';
import { texts } from './address-texts.ts';
import { askAhead } from './graphql/use-ask.ts';
import { Failure } from './parts/failure.tsx';
import { Runs } from './runs/runs.tsx';
import { Shell } from './shell/shell.tsx';
import { stepsOf } from './trajectory/steps-of.ts';

const root = createRootRouteWithContext<{ readonly queries: QueryClient }>()({
  component: Shell,
  validateSearch: texts('at'),
  search: { middlewares: [retainSearchParams(['at'])] },
  errorComponent: ({ error }) => <Failure error={error} />,
  notFoundComponent: () => <p className="empty">Nothing is at this address.</p>,
});

/** What a view begins with is asked for while its script is loaded: two ways to the server become one. */
const moment = ({ search: { at } }: { readonly search: { readonly at?: string } }) => ({ at: at ?? null });

const runs = createRoute({
  getParentRoute: () => root,
  path: '/',
  validateSearch: texts('text', 'kind', 'state', 'environment', 'policy', 'tag', 'compare'),
  component: Runs,
});
const run = createRoute({
  getParentRoute: () => root,
  path: '/view/run/$id',
  loaderDeps: moment,
  loader: ({ context: { queries }, params: { id }, deps: { at } }) => askAhead(queries, runPage, { id }, at),
  component: lazyRouteComponent(() => import('./run/run.tsx'), 'RunPage'),
});
const images = createRoute({
  getParentRoute: () => root,
  path: '/view/images/$id',
  validateSearch: texts('order', 'step'),
  loaderDeps: moment,
  loader: ({ context: { queries }, params: { id }, deps: { at } }) => askAhead(queries, imagesPage, { id }, at),
  component: lazyRouteComponent(() => import('./images/images.tsx'), 'ImagesPage'),
});
const group = createRoute({
  getParentRoute: () => root,
  path: '/view/group/$id',
  validateSearch: texts('estimator'),
  loaderDeps: moment,
  loader: ({ context: { queries }, params: { id }, deps: { at } }) => askAhead(queries, groupPage, { id }, at),
  component: lazyRouteComponent(() => import('./group/group.tsx'), 'GroupPage'),
});
const trajectory = createRoute({
  getParentRoute: () => root,
  path: '/view/trajectory/$id',
  validateSearch: texts('step', 'tab'),
  loaderDeps: moment,
  loader: ({ context: { queries }, params: { id }, deps: { at } }) => {
    askAhead(queries, trajectoryPage, { id }, at);
    void queries.prefetchInfiniteQuery(stepsOf(id, at));
  },
  component: lazyRouteComponent(() => import('./trajectory/trajectory.tsx'), 'TrajectoryPage'),
});
const tree = createRoute({
  getParentRoute: () => root,
  path: '/view/tree/$id',
  validateSearch: texts('step', 'simulation', 'colour'),
  loaderDeps: moment,
  loader: ({ context: { queries }, params: { id }, deps: { at } }) => {
    askAhead(queries, treePage, { id }, at);
    askAhead(queries, treeOutline, { id }, at);
  },
  component: lazyRouteComponent(() => import('./tree/tree.tsx'), 'TreePage'),
});
const diff = createRoute({
  getParentRoute: () => root,
  path: '/view/diff',
  validateSearch: texts('a', 'b'),
  component: lazyRouteComponent(() => import('./diff/diff.tsx'), 'DiffPage'),
});
const compare = createRoute({
  getParentRoute: () => root,
  path: '/view/compare',
  validateSearch: texts('runs'),
  component: lazyRouteComponent(() => import('./compare/compare.tsx'), 'ComparePage'),
});
const find = createRoute({
  getParentRoute: () => root,
  path: '/view/find',
  validateSearch: texts('words', 'in', 'run', 'tool', 'rewarded', 'component', 'verdict', 'policy', 'version', 'termination'),
  component: lazyRouteComponent(() => import('./find/find.tsx'), 'FindPage'),
});
const review = createRoute({
  getParentRoute: () => root,
  path: '/view/review',
  validateSearch: texts('words', 'in', 'run', 'verdict', 'from', 'until', 'fault', 'label', 'without'),
  component: lazyRouteComponent(() => import('./review/review.tsx'), 'ReviewPage'),
});
const training = createRoute({
  getParentRoute: () => root,
  path: '/view/training',
  validateSearch: texts('policy', 'metric', 'version', 'beside'),
  component: lazyRouteComponent(() => import('./training/training.tsx'), 'TrainingPage'),
});
const discarded = createRoute({
  getParentRoute: () => root,
  path: '/view/discarded',
  validateSearch: texts('policy', 'by', 'reason'),
  component: lazyRouteComponent(() => import('./discarded/discarded.tsx'), 'DiscardedPage'),
});
const revision = createRoute({
  getParentRoute: () => root,
  path: '/view/revision/$id',
  component: lazyRouteComponent(() => import('./revision/revision.tsx'), 'RevisionPage'),
});
const data = createRoute({
  getParentRoute: () => root,
  path: '/view/data',
  component: lazyRouteComponent(() => import('./data/datasets.tsx'), 'DataPage'),
});
const dataset = createRoute({
  getParentRoute: () => root,
  path: '/view/dataset/$id',
  component: lazyRouteComponent(() => import('./data/dataset.tsx'), 'DatasetPage'),
});
const lineage = createRoute({
  getParentRoute: () => root,
  path: '/view/lineage/$id',
  component: lazyRouteComponent(() => import('./lineage/lineage.tsx'), 'LineagePage'),
});
const operations = createRoute({
  getParentRoute: () => root,
  path: '/view/operations',
  component: lazyRouteComponent(() => import('./operations/operations.tsx'), 'OperationsPage'),
});

/** Makes the router: every view is an address. */
export function makeRouter(queries: QueryClient) {
  const routeTree = root.addChildren([
    runs,
    run,
    images,
    group,
    trajectory,
    tree,
    diff,
    compare,
    find,
    review,
    training,
    discarded,
    revision,
    data,
    dataset,
    lineage,
    operations,
  ]);
  return createRouter({ routeTree, context: { queries }, defaultPreload: 'intent', scrollRestoration: true });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
