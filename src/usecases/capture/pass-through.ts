import { Readable } from 'node:stream';
import { type Forwarded, faultOf, headersOf, statusOf } from './forward-call.ts';
import { readText, watchSilence } from './split-events.ts';
import type { Upstream } from './upstream.ts';

interface PassedRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Below the address of the model server, with its query. */
  readonly path: string;
  /** Content-Type and Accept of the program. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array<ArrayBuffer> | null;
  /** Aborted when the program goes away before there is an answer. */
  readonly signal: AbortSignal;
}

/**
 * Passes on what is no call that is recorded: models, embeddings, legacy completions, files, audio. Its answer comes as the model
 * server sends it; text that is no stream, without secrets. @throws UpstreamFailed.
 */
export async function passThrough(
  upstream: Upstream,
  replyBytes: number,
  { method, path, headers, body, signal }: PassedRequest,
): Promise<Forwarded> {
  const silence = watchSilence(upstream.timeoutMs, signal);
  try {
    const { response, hide } = await upstream.send(path, body, silence.signal, { method, headers });
    const type = response.headers.get('content-type') ?? '';
    const head = { status: statusOf(response), headers: { ...headersOf(response), 'x-espalier-unrecorded': UNRECORDED } };
    if (response.ok && response.body && !/^text\/(?!event-stream)|json/.test(type)) {
      const stream = Readable.from(moving(response.body, silence.move), { objectMode: false });
      stream.once('close', () => {
        silence.stop();
        silence.abort(new Error('the program went away'));
      });
      return { ...head, body: stream };
    }
    const text = hide(await readText(response, replyBytes, silence));
    silence.stop();
    return { ...head, body: text };
  } catch (error) {
    silence.stop();
    throw faultOf(error, { upstream }, silence.signal);
  }
}
const UNRECORDED = 'only chat completions and responses are recorded';

async function* moving(body: AsyncIterable<Uint8Array>, move: () => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    move();
    yield chunk;
  }
}
