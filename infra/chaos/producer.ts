import { setTimeout as delay } from 'node:timers/promises';
import type { Envelope } from '../../src/events/envelope.ts';
import { Story } from '../../src/testing/story.ts';

/** An application outside that tells the API of its own runs, request by request, each repeated until it is answered. */
export interface Producer {
  /** Ids of the events whose request was answered 200. */
  readonly acknowledged: readonly string[];
  /** Requests that were sent more than once. */
  repeated(): number;
  /** Ends it behind the request in hand. @throws Error when a request was refused. */
  close(): Promise<void>;
}

const PAUSE_MS = 300; // there at every kill, and a small part of the log

/** Starts telling. @param name two producers of one name tell the same events. */
export function startProducer(url: string, name: string): Producer {
  const acknowledged: string[] = [];
  let repeated = 0;
  let isOver = false;
  async function tell(): Promise<void> {
    for (let run = 0; !isOver; run++) {
      const events = walkOf(`${name} ${run}`);
      for (let i = 0; i < events.length; i += 3) {
        const part = events.slice(i, i + 3);
        for (let tries = 0; !(await isTaken(url, part)); tries++) {
          if (tries === 0) repeated++;
          if (tries > MOST_TRIES) throw new Error(`the API took no request for ${(MOST_TRIES * PAUSE_MS) / 1_000} s`);
          await delay(PAUSE_MS);
        }
        acknowledged.push(...part.map(({ id }) => id));
        await delay(PAUSE_MS);
      }
    }
  }
  const telling = tell();
  telling.catch(() => undefined); // told by `close`
  return {
    acknowledged,
    repeated: () => repeated,
    async close() {
      isOver = true;
      await telling;
    },
  };
}

const MOST_TRIES = 600;

function walkOf(name: string): readonly Envelope[] {
  const story = new Story(name);
  const runId = story.run();
  const tree = story.tree(runId);
  for (let ordinal = 0; ordinal < 3; ordinal++) story.walk(tree, ordinal, 3, ordinal % 2);
  story.closeTree(tree, 3);
  story.finishRun(runId);
  return story.events;
}

/** Sends once. False when there was no answer, or one that says to come again. @throws Error for a refusal. */
async function isTaken(url: string, events: readonly Envelope[]): Promise<boolean> {
  const request = {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(events) },
    signal: AbortSignal.timeout(10_000), // a process that is paused holds the connection
  };
  const answer = await fetch(`${url}/v1/events`, request)
    .then(async (response) => ({ status: response.status, text: await response.text() }))
    .catch(() => null);
  if (answer === null || answer.status >= 500 || answer.status === 429) return false;
  if (answer.status !== 200) throw new Error(`POST /v1/events answered ${answer.status}: ${answer.text.slice(0, 500)}`);
  return true;
}
