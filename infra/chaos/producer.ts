import { setTimeout as delay } from 'node:timers/promises';
import type { Envelope } from '../../src/events/envelope.ts';
import { EventBuilder } from '../../src/testing/event-builder.ts';
import { LOCAL } from '../../src/testing/local-token.ts';

/** An application outside that reports its own runs to the API, request by request, each repeated until it is answered. */
export interface Producer {
  /** Ids of the events whose request was answered 200. */
  readonly acknowledged: readonly string[];
  /** Requests that were sent more than once. */
  repeated(): number;
  /** Ends it behind the request in flight. @throws Error when a request was refused. */
  close(): Promise<void>;
}

const PAUSE_MS = 300; // there at every kill, and a small part of the log

/**
 * Starts sending. @param url where the API is now, asked for each request; @param name two producers of one name send the same
 * events.
 */
export function startProducer(url: () => string, name: string): Producer {
  const acknowledged: string[] = [];
  let repeated = 0;
  let isOver = false;
  async function sendAll(): Promise<void> {
    for (let run = 0; !isOver; run++) {
      const events = walkOf(`${name} ${run}`);
      for (let i = 0; i < events.length; i += 3) {
        const part = events.slice(i, i + 3);
        for (let tries = 0; ; tries++) {
          const refusal = await send(url(), part);
          if (refusal === null) break;
          if (tries === 0) repeated++;
          if (tries > MOST_TRIES) throw new Error(`the API took no request for ${(MOST_TRIES * PAUSE_MS) / 1_000} s: ${refusal}`);
          await delay(PAUSE_MS);
        }
        acknowledged.push(...part.map(({ id }) => id));
        await delay(PAUSE_MS);
      }
    }
  }
  const sending = sendAll();
  sending.catch(() => undefined); // reported by `close`
  return {
    acknowledged,
    repeated: () => repeated,
    async close() {
      isOver = true;
      await sending;
    },
  };
}

const MOST_TRIES = 600;

function walkOf(name: string): readonly Envelope[] {
  const builder = new EventBuilder(name);
  const runId = builder.run();
  const tree = builder.tree(runId);
  for (let ordinal = 0; ordinal < 3; ordinal++) builder.walk(tree, ordinal, 3, ordinal % 2);
  builder.closeTree(tree, 3);
  builder.finishRun(runId);
  return builder.events;
}

/** Sends once. Returns null when it was taken, or why it has to come again. @throws Error for a refusal. */
async function send(url: string, events: readonly Envelope[]): Promise<string | null> {
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...LOCAL },
    body: JSON.stringify(events),
    signal: AbortSignal.timeout(10_000), // a process that is paused holds the connection
  };
  try {
    const response = await fetch(`${url}/v1/events`, request);
    const answer = `POST /v1/events answered ${response.status}: ${(await response.text()).slice(0, 500)}`;
    if (response.status === 200) return null;
    if (response.status >= 500 || response.status === 429) return answer;
    throw new Refused(answer);
  } catch (error) {
    if (error instanceof Refused) throw error;
    return String(error);
  }
}

class Refused extends Error {
  override readonly name = 'Refused';
}
