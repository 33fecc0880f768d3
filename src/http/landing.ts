import { type Endpoint, endpoint, type Route } from './endpoint.ts';
import { text } from './reply.ts';

/** Returns the endpoint of the page that lists some routes: at `/`, unless one of them lies there. */
export function landingEndpoint(routes: readonly Route[]): Endpoint {
  const page = text(200, landingPage(routes), 'text/html; charset=utf-8');
  return endpoint({
    method: 'GET',
    path: routes.some(({ path }) => path === '/') ? '/endpoints' : '/',
    needs: 'any-key',
    summary: 'A page that lists the endpoints.',
    answers: { 200: { description: 'The page.', content: { 'text/html': { type: 'string' } } } },
    handle: async () => page,
  });
}

function landingPage(routes: readonly Route[]): string {
  const rows = routes.map((route) => {
    const [method, about] =
      'listener' in route
        ? [Object.keys(route.operations).join(', '), Object.values(route.operations)[0]?.summary ?? '']
        : [route.method, route.summary];
    const link = method.startsWith('GET') && !route.path.includes('{');
    const name = link ? `<a href="${route.path}"><code>${route.path}</code></a>` : `<code>${route.path}</code>`;
    return `<tr><td>${method}</td><td>${name}</td><td>${about}</td></tr>`;
  });
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Espalier</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:3rem auto;max-width:46rem;padding:0 1rem;color-scheme:light dark}td{padding:.2rem 1rem .2rem 0;vertical-align:top}</style>
<h1>Espalier</h1>
<p>The record of agents that learn: every step an event, every event a fact.</p>
<table>
${rows.join('\n')}
</table>
</html>
`;
}
