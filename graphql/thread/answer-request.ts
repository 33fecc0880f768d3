import type { ServerContext } from '../context.ts';
import type { FromThread, ToThread } from './messages.ts';

const PART = 256 * 1_024; // bytes of one message
const AHEAD = 1_048_576; // bytes of an answer that the client has not taken yet

type Opened = Promise<{ fetch(request: Request, context: ServerContext): Response | Promise<Response> }>;

/** Answers one request in parts, no faster than its client takes them. */
export function answerRequest(
  { id, method, url, headers, body, context }: Extract<ToThread, { kind: 'request' }>,
  opened: Opened,
  say: (message: FromThread, moved?: readonly ArrayBuffer[]) => void,
): { readonly done: Promise<void>; taken(bytes: number): void; leave(): void } {
  const leaving = new AbortController();
  const { signal } = leaving;
  let ahead = 0;
  let go: () => void = () => undefined;
  signal.addEventListener('abort', () => go());
  return { done: answer().catch(failed), taken, leave: () => leaving.abort() };

  async function answer(): Promise<void> {
    const handler = await opened;
    const asked = new Request(url, { method, headers, signal, ...(body === null ? {} : { body: new Uint8Array(body) }) });
    const response = await handler.fetch(asked, context);
    if (signal.aborted) return;
    say({ kind: 'head', id, status: response.status, headers: Object.fromEntries(response.headers) });
    const reader = response.body?.getReader();
    signal.addEventListener('abort', () => void reader?.cancel().catch(() => undefined));
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done || signal.aborted) break;
      await send(value);
    }
    say({ kind: 'end', id });
  }

  async function send(chunk: Uint8Array): Promise<void> {
    const isWhole = chunk.length <= AHEAD && chunk.length === chunk.buffer.byteLength;
    const size = isWhole ? chunk.length : PART;
    for (let from = 0; from < chunk.length && !signal.aborted; from += size) {
      if (ahead > AHEAD)
        await new Promise<void>((resolve) => {
          go = resolve;
        });
      // a buffer of its own, which moves to the other thread
      const bytes = isWhole ? new Uint8Array(chunk.buffer as ArrayBuffer) : new Uint8Array(chunk.subarray(from, from + size));
      ahead += bytes.length;
      say({ kind: 'part', id, bytes }, [bytes.buffer]);
    }
  }

  function taken(bytes: number): void {
    ahead -= bytes;
    if (ahead <= AHEAD) go();
  }

  function failed(error: unknown): void {
    if (!signal.aborted) say({ kind: 'failed', id, error: error instanceof Error ? error : String(error) });
  }
}
