import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { refusals } from '../openapi.ts';
import { type Reply, refuse } from '../reply.ts';
import type { Encoding, Studio } from './open-studio.ts';

const HTML = { 'text/html': { type: 'string' } };
const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};
const view = z.object({ view: z.string().regex(/^[a-z]{1,20}$/) });
const viewOfOne = view.extend({ id: z.string().regex(/^[^?]{1,500}$/) });
const file = z.object({ file: z.string().regex(/^[\w.-]{1,200}$/) });

/**
 * Returns the endpoints of the studio. They hold no data and need no key: what a page shows it asks of `/graphql`, as whoever
 * looks at it.
 */
export function studioEndpoints(studio: Studio): readonly Endpoint[] {
  const page: Reply = {
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
    body: studio.page,
  };
  const frame: Reply = {
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'content-security-policy': frameRules(studio.frame),
      'x-frame-options': 'SAMEORIGIN',
      'x-dns-prefetch-control': 'off',
    },
    body: studio.frame,
  };
  const shown = { method: 'GET', needs: 'nothing', answers: { 200: { description: 'The page.', content: HTML } } } as const;
  return [
    endpoint({ ...shown, path: '/', summary: 'The studio: shows the runs.', handle: async () => page }),
    endpoint({ ...shown, path: '/view/{view}', params: view, summary: 'A view of the studio.', handle: async () => page }),
    endpoint({
      ...shown,
      path: '/view/{view}/{id}',
      params: viewOfOne,
      summary: 'A view of the studio that shows one thing.',
      handle: async () => page,
    }),
    endpoint({
      ...shown,
      path: '/frame.html',
      summary: 'The frame in which renderers of environments show steps: it loads nothing, and holds nothing of the record.',
      handle: async () => frame,
    }),
    endpoint({
      method: 'GET',
      path: '/assets/{file}',
      needs: 'nothing',
      params: file,
      summary: 'A file that the studio loads, named by its content.',
      answers: {
        200: {
          description: 'The file, compressed as Accept-Encoding allows.',
          content: { 'text/javascript': { type: 'string' } },
        },
        ...refusals({ 404: 'The studio has no such file: reload the page.' }),
      },
      async handle({ req, params }) {
        const encoding = encodingFor(String(req.headers['accept-encoding'] ?? ''));
        const body = await studio.asset(params.file, encoding);
        if (!body)
          return refuse(
            404,
            `the studio has no file ${JSON.stringify(params.file)}`,
            'reload the page: another version is served',
          );
        const type = TYPES[params.file.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
        const headers = { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' };
        return { status: 200, headers: encoding === '' ? headers : { ...headers, 'content-encoding': encoding }, body };
      },
    }),
  ];
}

function encodingFor(accepted: string): Encoding {
  const names = accepted.split(',').map((each) => each.split(';')[0]?.trim());
  return names.includes('br') ? 'br' : names.includes('gzip') ? 'gzip' : '';
}

/** The frame's own script alone is run, and the workers that it starts; nothing is loaded, and it has an origin of its own. */
function frameRules(frame: string): string {
  const script = /<script>([\s\S]*?)<\/script>/.exec(frame)?.[1] ?? '';
  const digest = Buffer.from(sha256Hex(script), 'hex').toString('base64');
  const own = `script-src 'sha256-${digest}'; worker-src data:; style-src 'unsafe-inline'; img-src data:`;
  return `default-src 'none'; ${own}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts`;
}
