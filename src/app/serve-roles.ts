import { addLagGauges } from '../http/gauges.ts';
import type { Platform } from '../platform/open-platform.ts';
import { projections } from '../projections/registry.ts';
import { readConfig } from '../runtime/config.ts';
import { drain } from '../runtime/draining.ts';
import { type Running, runUntilStopped } from '../runtime/lifecycle.ts';
import { createLogger, type Logger } from '../runtime/logger.ts';
import { countRoles, ROLES, type RoleName, SCOPED_ROLES, type ScopedRoleName, type StartedRole, startRoles } from './roles.ts';
import { startOnPlatform } from './start-on-platform.ts';

/** What a process serves: roles together, or one that works on what its words say. */
export type Served =
  | { readonly kind: 'roles'; readonly names: readonly RoleName[] }
  | { readonly kind: 'scoped'; readonly name: ScopedRoleName; readonly words: readonly string[] };

/** Runs roles in this process, until it is stopped or one of them ends. */
export async function serveRoles(served: Served): Promise<void> {
  const name = served.kind === 'roles' ? served.names.join(' ') : served.name;
  const ends = served.kind === 'scoped' && SCOPED_ROLES[served.name].ends;
  const startServed = async (signal: AbortSignal): Promise<Running> => {
    const config = readConfig();
    const logger = createLogger({ level: config.logLevel }).with({ role: name });
    const { running, close } = await startOnPlatform({ config, name, logger, signal }, (platform) =>
      start(served, platform, logger, signal),
    );
    const reached =
      served.kind === 'roles' ? served.names.some((each) => ROLES[each].reached) : SCOPED_ROLES[served.name].reached;
    return { finished: running.finished, ...(reached ? { drain: () => drain(config.drainMs) } : {}), close };
  };
  await runUntilStopped(startServed, { ends });
}

async function start(served: Served, platform: Platform, logger: Logger, signal: AbortSignal): Promise<Running> {
  const announce = (role: string, ready: string, { url, fields }: StartedRole) =>
    logger.info(ready, { role, log: platform.mode.log, url, ...fields });
  if (served.kind === 'scoped') {
    const { name, words } = served;
    countRoles(platform, [name]);
    const running: StartedRole = await SCOPED_ROLES[name].start(platform, logger.with({ role: name }), { words, signal });
    announce(name, SCOPED_ROLES[name].ready, running);
    return { finished: running.finished ?? new Promise(() => undefined), close: () => running.close() };
  }
  // A projector says at its probe port how far the read models are behind, by which an orchestrator adds projectors.
  if (served.names.includes('project'))
    addLagGauges(platform.metrics, { db: platform.database.db, log: platform.log, projections });
  const { roles, finished, close } = await startRoles(platform, logger, served.names);
  for (const name of served.names) {
    const running: StartedRole = roles[name];
    const atWork = () => announce(name, ROLES[name].ready, running);
    if (running.started === undefined) atWork();
    else running.started.then(atWork, () => undefined); // `finished` reports a fault
  }
  return { finished, close };
}
