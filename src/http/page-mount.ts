import { z } from 'zod';
import type { Mount, NodeListener } from './endpoint.ts';
import { refusals } from './openapi.ts';

const id = z.uuid().describe('The id of a run, a tree or a rollout.');

/** Mounts what writes pages that open without a server. */
export function pageMount(listener: NodeListener): Mount {
  return {
    path: '/v1/pages',
    needs: ['read'],
    listener,
    operations: {
      GET: {
        summary: 'What the studio shows of a run, a tree or a rollout, as one page that opens without a server.',
        query: z.object({ id }),
        answers: {
          200: { description: 'The page: it holds its data and its images.', content: { 'text/html': { type: 'string' } } },
          ...refusals({
            400: 'The id is no UUID.',
            404: 'No run, tree or rollout has the id.',
            422: 'More would be read than a query may read.',
            503: 'The studio of this server is not built.',
            429: 'Too many pages are being written: ask again after Retry-After seconds.',
          }),
        },
      },
    },
  };
}
