import { expect, test } from '@jest/globals';
import { json } from './reply.ts';
import { matchRoute, type Route } from './route.ts';

const routes: readonly Route[] = [
  { kind: 'mount', path: '/graphql', needs: ['read'], listener: () => undefined },
  { kind: 'endpoint', method: 'GET', path: '/healthz', needs: 'any-key', handle: async () => json(200, {}) },
  { kind: 'endpoint', method: 'POST', path: '/v1/events', needs: ['ingest'], handle: async () => json(200, {}) },
];

test.each([
  ['GET', '/healthz', '/healthz'],
  ['HEAD', '/healthz', '/healthz'],
  ['POST', '/v1/events', '/v1/events'],
  ['OPTIONS', '/graphql', '/graphql'],
  ['GET', '/graphql/', '/graphql'],
])('%s %s is routed to %s', (method, path, expected) => {
  const match = matchRoute(routes, method, path);
  expect(match.kind === 'route' && match.route.path).toBe(expected);
});

test.each([
  ['GET', '/nothing', 404],
  ['GET', '/graphqlx', 404],
  ['GET', '/graphql/stream', 404],
  ['GET', '/graphql/../v1/events', 404],
  ['GET', '/healthz/', 404],
  ['DELETE', '/v1/events', 405],
  ['POST', '/healthz', 405],
])('%s %s is refused with %i', (method, path, status) => {
  const match = matchRoute(routes, method, path);
  expect(match.kind === 'refused' && match.reply.status).toBe(status);
});
