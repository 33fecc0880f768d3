import type { Stamp } from '../events/envelope.ts';
import { apiRoutes } from '../http/api-routes.ts';
import { type HttpServer, serverOptions, startHttp } from '../http/server.ts';
import { openStudio } from '../http/studio/open-studio.ts';
import type { Declare } from '../http/training/declare-policy.ts';
import { packAhead } from '../http/training/pack-ahead.ts';
import { createPackedRows } from '../http/training/packed-rows.ts';
import { openRowFormatHints } from '../http/training/row-format-hints.ts';
import type { Platform } from '../platform/open-platform.ts';
import { faultOfReplica } from '../platform/replica.ts';
import { watchForgotten } from '../platform/watch-forgotten.ts';
import { dropLeftSnapshots } from '../projections/as-of/snapshot-owner.ts';
import { countMoves } from '../projections/moved-cursors.ts';
import { publishUrl } from '../runtime/installation-url.ts';
import type { Logger } from '../runtime/logger.ts';
import { dropDrawn, segmentCacheOf } from '../usecases/collect/prompting/prompter.ts';
import { missingTokenizers } from '../usecases/datasets/export/token-decoder.ts';
import { declarePolicy } from '../usecases/train/declare-policy.ts';
import { openLeaseService } from '../usecases/train/open-lease-service.ts';
import { forwardQueries } from './forward-queries.ts';
import { placeTraces } from './place-traces.ts';
import { proxyOf } from './serve-proxy.ts';
import { startInThread } from './start-in-thread.ts';

const QUERIES_HEAP_MB = 1_536; // the largest queries at once take some 750 MB

/** Serves every endpoint of the platform over HTTP: GraphQL, ingest, training, health, metrics. */
export async function serveApi(platform: Platform, logger: Logger): Promise<HttpServer> {
  const { config, database, log, blobs, metrics } = platform;
  const away = config.databaseReplicaUrl === null ? null : await faultOfReplica(config.databaseReplicaUrl, database);
  if (away) logger.warn('queries wait until the standby of the database is there', { error: away });
  const notices = await countMoves(platform.directUrl, ['training']); // trainers wait for what is planned and leased
  const queries = forwardQueries(() => startInThread('queries', platform, logger, { heapMb: QUERIES_HEAP_MB }), logger);
  try {
    await dropLeftSnapshots(platform.directUrl, database.db); // a server that was killed kept some
    const segmentCache = segmentCacheOf(platform);
    const declare: Declare = (policyId, declaration) => declarePolicy(platform, policyId, declaration);
    const as = (stamp: Stamp) => ({
      service: openLeaseService({ ...platform, stamp }),
      declare: ((policyId, declaration) => declarePolicy({ ...platform, stamp }, policyId, declaration)) satisfies Declare,
    });
    const packed = createPackedRows({ db: database.db, blobs });
    const asking = openRowFormatHints();
    const training = { service: openLeaseService(platform), notices, declare, as, packed, asking };
    const studio = openStudio();
    if (!studio) logger.warn('the studio is not built; `npm run studio:build` builds it');
    for (const missing of missingTokenizers(config.tokenizers)) logger.warn(missing);
    const proxy = proxyOf(platform);
    const routes = apiRoutes({
      db: database.db,
      log,
      blobs,
      metrics,
      limits: config.limits,
      logger,
      queries: queries.listener,
      segmentCache,
      training,
      ...(studio ? { studio } : {}),
      proxy,
    });
    const server = await startHttp({ ...serverOptions(config), db: database.db, metrics, logger, routes });
    const withdrawUrl = await publishUrl(config.home, server.url).catch((error: unknown) => {
      logger.info('programs of this machine have to name the server: ESPALIER_HOME is not writable', { error });
      return async () => undefined;
    });
    const placing = placeTraces(platform, proxy.capture, logger);
    const packing = packAhead({ db: database.db, packed, asking, notices });
    const watching = watchForgotten(platform, () => {
      dropDrawn(platform);
      packed.clear();
    });
    return {
      url: server.url,
      async close() {
        await withdrawUrl();
        await placing.end();
        await watching.close();
        await packing.close();
        await server.close();
        await queries.close();
        await notices.close();
      },
    };
  } catch (error) {
    await queries.close();
    await notices.close();
    throw error;
  }
}
