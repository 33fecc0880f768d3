import { forwardRoutes } from '../http/policy/forward-routes.ts';
import { policyRoutes } from '../http/policy/policy-routes.ts';
import { type HttpServer, startHttp } from '../http/server.ts';
import type { Platform } from '../platform/open-platform.ts';
import { type ActingOptions, PolicySpecError } from '../policies/policy-entry.ts';
import { createPolicy, parsePolicyText } from '../policies/policy-spec.ts';
import { isServed } from '../policies/served/served-policy.ts';
import { installationToken } from '../runtime/installation-token.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { followVersions } from '../training/versions/train-versions.ts';

/**
 * Serves a policy as a model server: `linear:FILE`, or `live:POLICY`, which answers with the newest version of a policy that is
 * being trained. Off loopback it wants API keys as every endpoint does. @throws PolicySpecError for a policy that is a server
 * itself, or knows none of the actions it is asked about.
 */
export async function servePolicy(
  platform: Platform,
  text: string | undefined,
  logger: Logger,
  signal: AbortSignal,
): Promise<HttpServer & { readonly model: string }> {
  const spec = parsePolicyText(text ?? '');
  if (spec.kind !== 'linear' && spec.kind !== 'live' && spec.kind !== 'random')
    throw new PolicySpecError('kind', `${spec.kind} cannot be served; name linear:FILE or live:POLICY`);
  const { config, database } = platform;
  const { db } = database;
  const versionsOf = (policyId: string, acting: ActingOptions) => followVersions(platform, policyId, acting);
  const policy = await createPolicy(spec, { versionsOf, signal });
  const { host, port, limits, home, allowedHosts: hosts } = config;
  const metrics = createMetrics({ process: true });
  const routes = isServed(policy) ? forwardRoutes(policy, Date.now) : policyRoutes(policy, Date.now);
  const server = await startHttp({
    host,
    port,
    db,
    metrics,
    logger,
    routes,
    ...limits,
    hosts,
    token: () => installationToken(home),
  }).catch(async (error: unknown) => {
    await policy.close();
    throw error;
  });
  return {
    url: server.url,
    model: policy.ref.policyId,
    async close() {
      await server.close();
      await policy.close();
    },
  };
}
