import { type ProxyOptions, proxyRoutes } from '../http/proxy/proxy-routes.ts';
import { startHttp } from '../http/server.ts';
import type { Platform } from '../platform/open-platform.ts';
import { installationToken } from '../runtime/installation-token.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { openCapture } from '../usecases/capture/open-capture.ts';
import { openUpstream } from '../usecases/capture/upstream.ts';
import { placeTraces } from './place-traces.ts';
import { project } from './project.ts';

/** Serves the proxy alone, with projections of its own: what it records can be read at once. @throws UpstreamRefused. */
export async function serveProxy(platform: Platform, logger: Logger): Promise<Running & { readonly url: string }> {
  const { config, database } = platform;
  const { host, port, limits, home, allowedHosts: hosts } = config;
  const proxy = proxyOf(platform);
  const routes = proxyRoutes(proxy, limits);
  const server = await startHttp({
    host,
    port,
    project: config.project,
    db: database.db,
    metrics: createMetrics({ process: true }),
    logger,
    routes,
    ...limits,
    hosts,
    token: () => installationToken(home),
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
  const { upstream: url, whenUnrecorded, openai } = config;
  const upstream = url === null ? null : openUpstream({ url, apiKey: openai.apiKey ?? undefined });
  const capture = openCapture({ database, log, blobs, config: { capture: { upstream: upstream?.shown ?? null } } });
  return { capture, upstream, whenUnrecorded };
}
