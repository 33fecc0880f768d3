import type { BlobStore } from '../blobs/blob-store.ts';
import type { SegmentCache } from '../images/segment-cache.ts';
import type { EventLog } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';
import type { Projection } from '../projections/projection.ts';
import { projections as registered } from '../projections/registry.ts';
import type { RequestLimits } from '../runtime/config.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import type { NodeListener, Route } from './endpoint.ts';
import { addGauges, addTrainingGauges } from './gauges.ts';
import { exportMount, graphqlMount, pageMount, tableMounts } from './graphql-endpoints.ts';
import { imageEndpoint } from './image-endpoint.ts';
import { ingestEndpoint } from './ingest/ingest.ts';
import { takeRunEndpoint } from './ingest/take-run.ts';
import { type ProxyOptions, proxyRoutes } from './proxy/proxy-routes.ts';
import { serverEndpoints } from './server-endpoints.ts';
import type { Studio } from './studio/open-studio.ts';
import { studioEndpoints } from './studio/studio-endpoints.ts';
import { type TrainingLeases, trainingRoutes } from './training/training-routes.ts';

export interface ApiOptions {
  readonly db: Db;
  readonly log: EventLog;
  readonly blobs: BlobStore;
  readonly metrics: Metrics;
  readonly limits: RequestLimits;
  readonly logger?: Logger;
  /** The drawn segments that this process keeps; one of its own unless given. */
  readonly segmentCache?: SegmentCache;
  /** Answers GraphQL at `/graphql`, streams whole tables at `/v1/tables/NAME` and exports at `/v1/exports`, and writes pages at `/v1/pages`. */
  readonly queries?: NodeListener;
  /** Returns batches to trainers at `/v1/training/…`. */
  readonly training?: TrainingLeases;
  /** The pages that show the record; without them `/` lists the endpoints. */
  readonly studio?: Studio;
  /** Stands for a model server at `/v1/proxy/…`, and records what programs ask it. */
  readonly proxy?: ProxyOptions;
  readonly projections?: readonly Projection[];
  readonly catchUpMs?: number;
}

/** Returns the endpoints of the platform: events in, queries, images, training, schemas, health, metrics. */
export function apiRoutes(options: ApiOptions): readonly Route[] {
  const { metrics, queries, projections = registered } = options;
  const world = { ...options, projections };
  addGauges(metrics, world);
  addTrainingGauges(metrics, world.db);
  return [
    ...(queries ? [graphqlMount(queries), ...tableMounts(queries), exportMount(queries), pageMount(queries)] : []),
    ingestEndpoint(options),
    takeRunEndpoint(options),
    imageEndpoint(options),
    ...(options.training ? trainingRoutes(options.training, options) : []),
    ...(options.proxy ? proxyRoutes(options.proxy, options) : []),
    ...serverEndpoints(world),
    ...(options.studio ? studioEndpoints(options.studio) : []),
  ];
}
