import type { BlobStore } from '../blobs/blob-store.ts';
import { jsonSchemas } from '../events/json-schema.ts';
import type { SegmentCache } from '../images/segment-cache.ts';
import type { EventLog } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';
import type { Projection } from '../projections/projection.ts';
import { projections as registered } from '../projections/registry.ts';
import type { RequestLimits } from '../runtime/config.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { addGauges } from './gauges.ts';
import { readiness } from './health.ts';
import { createImageEndpoint, IMAGE_PATH } from './image-endpoint.ts';
import { createIngest } from './ingest/ingest.ts';
import { landingPage } from './landing.ts';
import { json, text } from './reply.ts';
import type { NodeListener, Route } from './route.ts';
import { type TrainingLeases, trainingRoutes } from './training/training-routes.ts';
import { addTrainingGauges } from './training-gauges.ts';

export interface ApiOptions {
  readonly db: Db;
  readonly log: EventLog;
  readonly blobs: BlobStore;
  readonly metrics: Metrics;
  readonly limits: RequestLimits;
  readonly logger?: Logger;
  /** The drawn segments that this process keeps; one of its own unless given. */
  readonly segmentCache?: SegmentCache;
  /** Answers everything at `/graphql`. */
  readonly graphql?: NodeListener;
  /** Returns batches to trainers at `/v1/training/…`. */
  readonly training?: TrainingLeases;
  readonly projections?: readonly Projection[];
  readonly catchUpMs?: number;
}

/** Returns the endpoints of the platform: events in, queries, health, metrics, schemas, and the page that lists them. */
export function apiRoutes(options: ApiOptions): readonly Route[] {
  const { metrics, graphql, projections = registered } = options;
  const world = { ...options, projections };
  addGauges(metrics, world);
  addTrainingGauges(metrics, world.db);
  const schemas = json(200, jsonSchemas());
  const routes: Route[] = [
    ...(graphql ? [{ kind: 'mount', path: '/graphql', needs: ['read'], listener: graphql } as const] : []),
    { kind: 'endpoint', method: 'POST', path: '/v1/events', needs: ['ingest'], handle: createIngest(options) },
    {
      kind: 'each',
      method: 'GET',
      path: '/images/{id}.png',
      pattern: IMAGE_PATH,
      needs: ['read'],
      handle: createImageEndpoint(options),
    },
    ...(options.training ? trainingRoutes(options.training, options) : []),
    { kind: 'endpoint', method: 'GET', path: '/v1/schemas', needs: 'any-key', handle: async () => schemas },
    { kind: 'endpoint', method: 'GET', path: '/healthz', needs: 'any-key', handle: async () => json(200, { alive: true }) },
    { kind: 'endpoint', method: 'GET', path: '/readyz', needs: 'any-key', handle: () => readiness(world) },
    {
      kind: 'endpoint',
      method: 'GET',
      path: '/metrics',
      needs: ['read'],
      handle: async () => {
        const { contentType, body } = await metrics.expose();
        return text(200, body, contentType);
      },
    },
  ];
  const landing = text(200, landingPage(routes), 'text/html; charset=utf-8');
  return [...routes, { kind: 'endpoint', method: 'GET', path: '/', needs: 'any-key', handle: async () => landing }];
}
