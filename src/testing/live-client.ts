import { setTimeout as delay } from 'node:timers/promises';
import { LOCAL } from './local-token.ts';

/** What a client of the live events received, over all its connections. */
export interface LiveClient {
  readonly received: readonly { readonly id: string; readonly stream: string; readonly position: string }[];
  /** How often the stream was opened: once, and again after each break. */
  opened(): number;
  close(): Promise<void>;
}

const QUERY = 'subscription ($after: String) { events(after: $after) { id stream position } }';

/**
 * Follows the events of an API from the first one on, by SSE; when the stream breaks it goes on behind the last position it was
 * given.
 */
export function followEvents(url: string, authorization: object = LOCAL): LiveClient {
  const received: LiveClient['received'][number][] = [];
  const closing = new AbortController();
  let opened = 0;
  const finished = run();
  return {
    received,
    opened: () => opened,
    async close() {
      closing.abort();
      await finished;
    },
  };

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await followOnce();
      } catch {
        // the server is gone; it is asked again below
      }
      await delay(50, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  }

  async function followOnce(): Promise<void> {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...authorization },
      body: JSON.stringify({ query: QUERY, variables: { after: received.at(-1)?.position ?? '' } }),
      signal: closing.signal,
    });
    opened++;
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true }); // the body of a fetch is bytes
      const messages = text.split('\n\n');
      text = messages.pop() ?? '';
      for (const message of messages) {
        const data = /^data: ?(.*)$/m.exec(message)?.[1];
        if (!data) continue;
        const parsed = JSON.parse(data) as { data?: { events: LiveClient['received'][number] } }; // our own query
        if (parsed.data) received.push(parsed.data.events);
      }
    }
  }
}
