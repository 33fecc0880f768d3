import { forwardRoutes } from '../http/policy/forward-routes.ts';
import type { SeenBy } from '../http/policy/models-endpoint.ts';
import { policyRoutes } from '../http/policy/policy-routes.ts';
import { type HttpServer, serverOptions, startHttp } from '../http/server.ts';
import type { Platform } from '../platform/open-platform.ts';
import { type ActingOptions, PolicySpecError } from '../policies/policy-entry.ts';
import { createPolicy, parsePolicyText } from '../policies/policy-spec.ts';
import { isServed } from '../policies/served/served-policy.ts';
import type { Db } from '../postgres/database.ts';
import { type Principal, sees } from '../postgres/principal.ts';
import { readOwners } from '../projections/owners/read-owners.ts';
import type { Fields, Logger } from '../runtime/logger.ts';
import { lineageIdOf } from '../training/leases/lineage-of.ts';
import { followVersions } from '../training/versions/train-versions.ts';

/**
 * Serves a policy as a model server: `linear:FILE`, or `live:POLICY`, which answers with the newest version of a policy that is
 * being trained. Off loopback it wants API keys as every endpoint does. A key of other projects than that of the policy finds
 * nothing there: a policy that is trained belongs to the project that declared it, another one to the project of this process.
 * @throws PolicySpecError for a policy that is a server itself, or knows none of the actions it is asked about.
 */
export async function servePolicy(
  platform: Platform,
  logger: Logger,
  { words: [text = ''], signal }: { readonly words: readonly string[]; readonly signal: AbortSignal },
): Promise<HttpServer & { readonly fields: Fields }> {
  const spec = parsePolicyText(text);
  if (spec.kind !== 'linear' && spec.kind !== 'live' && spec.kind !== 'random')
    throw new PolicySpecError('kind', `${spec.kind} cannot be served; name linear:FILE or live:POLICY`);
  const { config, database, metrics } = platform;
  const { db } = database;
  const versionsOf = (policyId: string, acting: ActingOptions) => followVersions(platform, policyId, acting);
  const policy = await createPolicy(spec, { versionsOf, signal });
  const seenBy =
    spec.kind === 'live' ? seenByProjectOf(db, policy.ref.policyId) : async (of: Principal) => sees(of, config.project);
  const routes = isServed(policy) ? forwardRoutes(policy, Date.now, seenBy) : policyRoutes(policy, Date.now, seenBy);
  const server = await startHttp({ ...serverOptions(config), db, metrics, logger, routes }).catch(async (error: unknown) => {
    await policy.close();
    throw error;
  });
  return {
    url: `${server.url}/v1`,
    fields: { model: policy.ref.policyId },
    async close() {
      await server.close();
      await policy.close();
    },
  };
}

/** Who sees all projects sees it always, others from when its owner is folded on; its project never changes. */
function seenByProjectOf(db: Db, policyId: string): SeenBy {
  const lineageId = lineageIdOf(policyId);
  let project: string | undefined;
  return async (principal) => {
    if (principal.projects === 'all') return true;
    project ??= (await readOwners(db, 'training', [lineageId])).get(lineageId)?.project;
    return project !== undefined && sees(principal, project);
  };
}
