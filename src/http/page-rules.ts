import type { ServerResponse } from 'node:http';

/** A page of the server's own writes its styles, and scripts where it has any, into itself and asks this server alone. */
const OWN_PAGE = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:";
// GraphiQL's one file: inline script and styles, an editor with workers and fonts of its own, queries to this server
const GRAPHIQL =
  "default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:; style-src 'unsafe-inline'; font-src data:; img-src 'self' data:; connect-src 'self'";
// The studio: scripts, styles and queries of this server;
// the styles that charts and lists set on their elements; its frame of views
const STUDIO =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; frame-src 'self'";
const EVERYWHERE = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Sets the headers by which browsers let a page from here load nothing from elsewhere and appear in no frame of another page. */
export function setPageRules(res: ServerResponse, path: string): void {
  const rules = path === '/graphql' ? GRAPHIQL : path === '/' || path.startsWith('/view/') ? STUDIO : OWN_PAGE;
  res.setHeader('content-security-policy', `${rules}; ${EVERYWHERE}`);
  res.setHeader('x-frame-options', 'DENY'); // the same for browsers that do not know frame-ancestors
  res.setHeader('cross-origin-resource-policy', 'same-origin');
  res.setHeader('cross-origin-opener-policy', 'same-origin');
  res.setHeader('referrer-policy', 'no-referrer');
  res.setHeader('x-content-type-options', 'nosniff');
}
