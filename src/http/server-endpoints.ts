import { z } from 'zod';
import { jsonSchemas } from '../events/json-schema.ts';
import { SCOPES } from '../postgres/keys.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { createReadiness, type HealthWorld, systemHealth } from './health.ts';
import { json, type Reply, refuse, text } from './reply.ts';
import { watchStalls } from './stalled-projections.ts';
import { watchUnread } from './unread-partitions.ts';

const readiness = z.object({ ready: z.boolean(), reasons: z.array(z.string()).describe('Why it is not ready.') });

const health = z.object({
  healthy: z.boolean(),
  reasons: z.array(z.string()).describe('What is wrong, each with what to do.'),
  lag: z
    .record(z.string(), z.int())
    .nullable()
    .describe('Records that each projection has still to read; null where that is unknown.'),
});

const caller = z.object({
  principal: z.string().describe('What its events are stamped with: `local`, or `key:` and the id of the key.'),
  keyId: z.string().nullable(),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  project: z.string().describe('The project that it writes.'),
  projects: z.union([z.array(z.string()), z.literal('all')]).describe('The projects that it sees.'),
  replaces: z.array(z.string()).describe('The principals of the keys that it replaces: what they opened is its own.'),
});

/** Returns the endpoints about the server itself: schemas of its events, health and measurements. */
export function serverEndpoints(world: HealthWorld & { readonly metrics: Metrics }): readonly Endpoint[] {
  const watches = { stalls: watchStalls(), unread: watchUnread() };
  const ready = createReadiness(world);
  let schemas: Reply | undefined; // 40 ms of a start that rarely needs them
  return [
    endpoint({
      method: 'GET',
      path: '/v1/schemas',
      needs: 'any-key',
      summary: 'The JSON Schema of every event type.',
      answers: {
        200: {
          description: 'A JSON Schema by type.',
          content: { 'application/json': z.record(z.string(), z.record(z.string(), z.unknown())) },
        },
      },
      async handle() {
        schemas ??= json(200, jsonSchemas());
        return schemas;
      },
    }),
    endpoint({
      method: 'GET',
      path: '/v1/key',
      needs: 'any-key',
      summary: 'Who asks: the key that is shown, what it sees and may do, and the keys that it replaces.',
      answers: { 200: { description: 'The caller.', content: { 'application/json': caller } } },
      async handle({ principal: { principal, keyId, name, scopes, project, projects, replaces = [] } }) {
        return json(200, { principal, keyId, name, scopes, project, projects, replaces });
      },
    }),
    endpoint({
      method: 'GET',
      path: '/healthz',
      needs: 'nothing', // a probe has no key, and whoever can connect knows as much
      summary: 'Says that the process is alive.',
      answers: { 200: { description: 'It is.', content: { 'application/json': z.object({ alive: z.literal(true) }) } } },
      handle: async () => json(200, { alive: true }),
    }),
    endpoint({
      method: 'GET',
      path: '/readyz',
      needs: 'nothing', // a load balancer has no key, and learns no name
      summary: 'Says whether this process can do its work: database and log answer, and it does not stop.',
      answers: {
        200: { description: 'Ready.', content: { 'application/json': readiness } },
        503: { description: 'Not ready.', content: { 'application/json': readiness } },
      },
      handle: ready,
    }),
    endpoint({
      method: 'GET',
      path: '/v1/health',
      needs: 'any-key',
      summary:
        'Says whether database and log answer, the projections run and every partition has a reader, with the reasons where not.',
      answers: {
        200: { description: 'Healthy.', content: { 'application/json': health } },
        503: { description: 'Something is wrong.', content: { 'application/json': health } },
      },
      handle: ({ principal }) => systemHealth(world, watches, principal),
    }),
    endpoint({
      method: 'GET',
      path: '/metrics',
      needs: ['read'],
      summary: 'Measurements for Prometheus.',
      answers: { 200: { description: 'In the text format of Prometheus.', content: { 'text/plain': { type: 'string' } } } },
      async handle({ principal }) {
        if (principal.projects !== 'all')
          return refuse(
            403,
            'measurements are of all projects, and the key sees some',
            'make a key for the monitor: `espalier keys create --name NAME --scopes read --project "*"`',
          );
        const { contentType, body } = await world.metrics.expose();
        return text(200, body, contentType);
      },
    }),
  ];
}
