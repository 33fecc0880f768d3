import { UpstreamFailed } from './capture-errors.ts';

/** One event of a stream of server-sent events: its bytes as text, and its data; null where it has none (a comment). */
export interface StreamEvent {
  readonly raw: string;
  readonly data: string | null;
}

/** Splits a stream of server-sent events as it arrives: an event comes out with the byte that ends it. */
export function splitEvents(): {
  add(bytes: Uint8Array): readonly StreamEvent[];
  rest(): readonly StreamEvent[];
  readonly held: number;
} {
  const decoder = new TextDecoder();
  let open = '';
  let seen = 0; // up to here no event ends: an event that goes on for long is looked through once
  const take = (): StreamEvent[] => {
    const events: StreamEvent[] = [];
    for (;;) {
      const ends = /\r\n\r\n|\n\n|\r\r/g;
      ends.lastIndex = Math.max(0, seen - 3);
      const end = ends.exec(open);
      if (!end) {
        seen = open.length;
        return events;
      }
      const until = end.index + end[0].length;
      events.push(eventOf(open.slice(0, until)));
      open = open.slice(until);
      seen = 0;
    }
  };
  return {
    add(bytes) {
      open += decoder.decode(bytes, { stream: true });
      return take();
    },
    rest() {
      open += decoder.decode();
      const events = take();
      return open.trim() === '' ? events : [...events, eventOf(open)];
    },
    get held() {
      return open.length;
    },
  };
}

function eventOf(raw: string): StreamEvent {
  const lines = raw.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'));
  return { raw, data: lines.length === 0 ? null : lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n') };
}

/** Reads a body as text, up to a limit. @throws UpstreamFailed. */
export async function readText({ body }: Response, limit: number, silence?: Silence): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of body ?? []) {
    silence?.move();
    size += chunk.byteLength;
    if (size > limit) throw new UpstreamFailed('protocol', `the reply is longer than ${limit} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Ends a call of which nothing is heard for too long, or whose program goes away. */
export interface Silence {
  readonly signal: AbortSignal;
  abort(reason: Error): void;
  readonly reason: string;
  isOver(): boolean;
  move(): void;
  stop(): void;
}

/** @param program aborted when the program goes away. */
export function watchSilence(limitMs: number, program: AbortSignal): Silence {
  const controller = new AbortController();
  const reason = `the model server was silent for ${limitMs} ms`;
  let isOver = false;
  const begin = () =>
    setTimeout(() => {
      isOver = true;
      controller.abort(new UpstreamFailed('silent', reason));
    }, limitMs);
  let timer: NodeJS.Timeout | null = begin();
  return {
    signal: AbortSignal.any([program, controller.signal]),
    abort: (why) => controller.abort(why),
    reason,
    isOver: () => isOver,
    move() {
      if (timer) clearTimeout(timer);
      timer = begin();
    },
    stop() {
      if (timer) clearTimeout(timer);
      timer = null;
    },
  };
}
