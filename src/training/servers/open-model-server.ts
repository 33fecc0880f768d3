import { PolicySpecError } from '../../policies/policy-entry.ts';
import type { OpenModelServer } from '../../policies/served/model-server.ts';
import { ownServer } from './own-server.ts';
import type { ServerEntry, ServerOptions } from './server-entry.ts';
import { sglangServer } from './sglang-server.ts';
import { transformersServer } from './transformers-server.ts';
import { vllmServer } from './vllm-server.ts';

/** The model servers that can exchange their weights for those of a version. */
const SERVERS: readonly ServerEntry[] = [ownServer, vllmServer, sglangServer, transformersServer];

export const SERVER_FORMS = SERVERS.map(({ form }) => form).join(', ');

/** Finds the server that a name such as `own` means, and what opens it. @throws PolicySpecError. */
export function modelServerOf(name: string, options: Omit<ServerOptions, 'rest'>): OpenModelServer {
  const [, kind = '', rest = ''] = /^([^:]*)(?::(.*))?$/s.exec(name) ?? [];
  const entry = SERVERS.find((each) => each.kind === kind);
  if (!entry) throw new PolicySpecError('server', `${JSON.stringify(name.slice(0, 80))} is unknown; write ${SERVER_FORMS}`);
  return (first, signal) => entry.open({ ...options, rest }, first, signal);
}
