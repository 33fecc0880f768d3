import { type ProxyOptions, proxyRoutes } from '../http/proxy/proxy-routes.ts';
import { serverOptions, startHttp } from '../http/server.ts';
import { serverEndpoints } from '../http/server-endpoints.ts';
import type { Platform } from '../platform/open-platform.ts';
import { projections } from '../projections/registry.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { openCapture } from '../usecases/capture/open-capture.ts';
import { openUpstream } from '../usecases/capture/upstream.ts';
import { placeTraces } from './place-traces.ts';
import { project } from './project.ts';

/** Serves the proxy alone, with projections of its own: what it records can be read at once. @throws UpstreamRefused. */
export async function serveProxy(platform: Platform, logger: Logger): Promise<Running & { readonly url: string }> {
  const { config, database, metrics } = platform;
  const proxy = proxyOf(platform);
  const routes = [
    ...proxyRoutes(proxy, { limits: config.limits, metrics, logger }),
    ...serverEndpoints({ db: database.db, log: platform.log, projections, metrics }),
  ];
  const server = await startHttp({
    ...serverOptions(config),
    db: database.db,
    metrics,
    logger,
    routes,
  });
  try {
    const subscription = await project(platform, logger);
    const placing = placeTraces(platform, proxy.capture, logger);
    return {
      url: server.url,
      finished: subscription.finished,
      async close() {
        await placing.end();
        await server.close();
        await subscription.close();
      },
    };
  } catch (error) {
    await server.close();
    throw error;
  }
}

/** Returns what stands for the model server that the installation names. */
export function proxyOf({ config, database, log, blobs }: Platform): ProxyOptions {
  const { upstream: url, whenUnrecorded, proxyPaths: paths, openai } = config;
  const upstream = url === null ? null : openUpstream({ url, apiKey: openai.apiKey ?? undefined });
  const capture = openCapture({ database, log, blobs, config: { capture: { upstream: upstream?.shown ?? null } } });
  return { capture, upstream, whenUnrecorded, paths };
}
