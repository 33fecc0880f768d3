import '../style/base.css';
import '../style/parts.css';
import '../style/views.css';
import '../style/insight.css';
import '../style/renderer.css';
import './page.css';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import type { PageRecord } from '../../../graphql/studio/page-record.ts';
import { readShared, type SharedValues } from '../../../graphql/studio/shared-values.ts';
import { answerFrom } from '../graphql/ask.ts';
import { applyTheme } from '../shell/theme.ts';
import { pageAnswers } from './answers.ts';
import { makePageRouter } from './page-router.tsx';
import { hold } from './stored-page.ts';

/** A page that opens without a server: the studio's views of what is written in the page itself. */
const written = document.getElementById('record')?.textContent;
const root = document.getElementById('root');
if (!written || !root) throw new Error('the page has no element "record" or "root"');
const record = readShared(JSON.parse(written) as SharedValues) as PageRecord; // as the same version wrote it
const answers = pageAnswers(record);
hold({ record, ...answers });
answerFrom(answers.answer);
applyTheme();
const queries = new QueryClient({
  defaultOptions: {
    // what the page holds never changes; steps of a path are shared with the tree, and are not to be compared
    queries: { staleTime: Infinity, retry: false, networkMode: 'always', structuralSharing: false, refetchOnWindowFocus: false },
  },
});
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      {/* the addresses of a page are some of the studio's */}
      <RouterProvider router={makePageRouter(record.first) as never} />
    </QueryClientProvider>
  </StrictMode>,
);
