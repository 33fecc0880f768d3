import type { World } from '../policies/openai/post-json.ts';
import { type OpenAiOptions, openAiPolicy } from '../policies/openai-policy.ts';
import type { Policy } from '../policies/policy.ts';
import { type OpenAiServer, type ServerOptions, startOpenAiServer } from './openai-server.ts';

const open: OpenAiServer[] = [];

/**
 * Starts a server whose replies name their seed and choice, with a policy that asks it, and the waits that the policy made (none
 * of them real). `closeOpenAiServers` closes it.
 */
export async function givenOpenAiPolicy(
  server: Partial<ServerOptions> = {},
  options: Partial<OpenAiOptions> = {},
): Promise<{ server: OpenAiServer; policy: Policy; waits: number[] }> {
  const started = await startOpenAiServer({
    reply: (request, choice) => `Thought: ${request.seed}\nAction: a${choice}`,
    ...server,
  });
  open.push(started);
  const waits: number[] = [];
  let clock = 0;
  const world: World = {
    fetch: (...call) => globalThis.fetch(...call),
    sleep: async (ms) => {
      waits.push(ms);
    },
    random: () => 0,
    now: () => clock++ * 10,
    date: () => Date.UTC(2026, 0, 1),
  };
  return { server: started, waits, policy: openAiPolicy({ baseUrl: started.url, model: 'qwen', ...options }, world) };
}

/** Closes every server that `givenOpenAiPolicy` started. */
export async function closeOpenAiServers(): Promise<void> {
  for (const server of open.splice(0)) await server.close();
}

/** So many turns of a history, distinguished by their number. */
export function someTurns(count: number): { response: string; action: string; observation: string }[] {
  return Array.from({ length: count }, (_, i) => ({ response: `Action: act${i}`, action: `act${i}`, observation: `seen ${i}` }));
}
