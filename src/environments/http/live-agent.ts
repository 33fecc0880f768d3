import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { setImmediate as turn } from 'node:timers/promises';
import { sendAddress } from '../../runtime/secret-address.ts';

const IDLE_MS = 2_000; // uvicorn closes a connection that was idle for 5 s: we close it long before

/**
 * Opens an agent that keeps connections to a server open between requests, and closes those that were idle. Who opens it destroys
 * it.
 */
export function liveAgent(baseUrl: URL): HttpAgent {
  const { protocol } = sendAddress(baseUrl).url;
  return new (protocol === 'https:' ? HttpsAgent : HttpAgent)({ keepAlive: true, timeout: IDLE_MS });
}

/**
 * Waits until what happened to kept connections is known: two turns of the event loop run the timers that close idle ones and
 * read the ends that servers sent. A request goes only to one that is open then.
 */
export async function watchEnds(): Promise<void> {
  await turn();
  await turn();
}
