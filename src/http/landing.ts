import type { Route } from './route.ts';

const ABOUT: Readonly<Record<string, string>> = {
  '/graphql': 'query and follow the record: runs, trees, steps, rewards (open it in a browser for a page to try queries)',
  '/v1/events': 'append events: one JSON event, an array, or NDJSON; gzip is taken',
  '/v1/schemas': 'the JSON Schema of every event type',
  '/healthz': 'the process is alive',
  '/readyz': 'database and log answer, projections run; 503 with reasons otherwise',
  '/images/{id}.png': 'the history that a step was shown, drawn again from the record and compared with its id',
  '/v1/training/policies': 'register the first version of a policy',
  '/v1/training/leases': 'lease the next batch of a policy; 204 when there is none',
  '/v1/training/leases/{id}/rows': 'the rows of a leased batch as safetensors, ?layout=step or verl',
  '/v1/training/leases/{id}/renew': 'move the deadline of a lease',
  '/v1/training/leases/{id}/ack': 'say that a batch was trained, and what came of it',
  '/v1/training/leases/{id}/nack': 'give a batch back',
  '/metrics': 'measurements for Prometheus',
};

/** Writes the page that lists the endpoints of a server. */
export function landingPage(routes: readonly Route[]): string {
  const rows = routes.map((route) => {
    const method = route.kind === 'mount' ? 'GET, POST' : route.method;
    const name =
      method === 'POST' || route.kind === 'each'
        ? `<code>${route.path}</code>`
        : `<a href="${route.path}"><code>${route.path}</code></a>`;
    return `<tr><td>${method}</td><td>${name}</td><td>${ABOUT[route.path] ?? ''}</td></tr>`;
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
