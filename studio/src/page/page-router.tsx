import {
  createHashHistory,
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
  Link,
  useLocation,
} from '@tanstack/react-router';
import { texts } from '../address-texts.ts';
import { DiffPage } from '../diff/diff.tsx';
import { GroupPage } from '../group/group.tsx';
import { Failure } from '../parts/failure.tsx';
import { RunPage } from '../run/run.tsx';
import { TrajectoryPage } from '../trajectory/trajectory.tsx';
import { TreePage } from '../tree/tree.tsx';
import { Contents } from './contents.tsx';
import { PageShell } from './page-shell.tsx';

const root = createRootRoute({
  component: PageShell,
  validateSearch: texts('at'),
  errorComponent: ({ error }) => <Failure error={error} />,
  notFoundComponent: NotHere,
});
const views = [
  createRoute({ getParentRoute: () => root, path: '/', component: Contents }),
  createRoute({ getParentRoute: () => root, path: '/view/run/$id', component: RunPage }),
  createRoute({ getParentRoute: () => root, path: '/view/group/$id', component: GroupPage }),
  createRoute({
    getParentRoute: () => root,
    path: '/view/trajectory/$id',
    validateSearch: texts('step', 'tab'),
    component: TrajectoryPage,
  }),
  createRoute({
    getParentRoute: () => root,
    path: '/view/tree/$id',
    validateSearch: texts('step', 'simulation', 'colour'),
    component: TreePage,
  }),
  createRoute({ getParentRoute: () => root, path: '/view/diff', validateSearch: texts('a', 'b'), component: DiffPage }),
];

function NotHere() {
  return (
    <p className="empty">
      {`${useLocation().pathname} is not in this page. `}
      <Link to="/">What is</Link>
    </p>
  );
}

/** Makes the router of a page: addresses after #, or in memory where the page is a frame of a notebook without an address. */
export function makePageRouter(first: string) {
  const framed = location.protocol === 'about:';
  if (!framed && location.hash === '') history.replaceState(null, '', `#${first}`);
  return createRouter({
    routeTree: root.addChildren(views),
    history: framed ? createMemoryHistory({ initialEntries: [first] }) : createHashHistory(),
  });
}
