import './style/base.css';
import './style/parts.css';
import './style/views.css';
import './style/insight.css';
import './style/renderer.css';
import './style/images.css';
import './style/review.css';
import './page/page.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { NotLetIn, Refused, ServerAway } from './graphql/faults.ts';
import { isPage } from './page/stored-page.ts';
import { loadViews, makeRouter } from './router.tsx';
import { applyTheme } from './shell/theme.ts';

const RETRIES = 2;
const AGAIN_MS = 3_000;
const IDLE_MS = 2_000; // the first screen comes first

applyTheme();
const queries = new QueryClient({
  defaultOptions: {
    queries: isPage()
      ? // what the page holds never changes; steps of a path are shared with the tree, and are not to be compared
        { staleTime: Infinity, retry: false, networkMode: 'always', structuralSharing: false, refetchOnWindowFocus: false }
      : {
          staleTime: 5_000,
          networkMode: 'always', // a server on loopback is there without a network, and one that is away is reported
          // what was refused is refused again; a server that is away may be back
          retry: (count, error) => count < RETRIES && !(error instanceof NotLetIn) && !(error instanceof Refused),
          refetchInterval: ({ state }) => (state.error instanceof ServerAway ? AGAIN_MS : false),
          refetchOnWindowFocus: false,
        },
  },
});
const root = document.getElementById('root');
if (!root) throw new Error('the page has no element "root"');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={makeRouter(queries)} />
    </QueryClientProvider>
  </StrictMode>,
);
if (!isPage()) setTimeout(() => void loadViews(), IDLE_MS);
