import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Reply, refuse } from './reply.ts';

/**
 * Answers what never became a request (no HTTP, too many headers, too slow) in the form of every refusal, and ends the
 * connection.
 * @param unanswered the responses of the connection that have not ended. They are sent first if their requests are whole: what
 * was appended is reported.
 */
export function answerClientError(
  error: Error & { readonly code?: string },
  socket: Duplex,
  unanswered: readonly ServerResponse[],
): void {
  const last = unanswered.at(-1);
  if (last && unanswered.every(({ req }) => req.complete) && error.code !== 'ECONNRESET') {
    socket.pause();
    if (last.shouldKeepAlive) last.once('close', () => socket.destroy());
    last.shouldKeepAlive = false; // each further piece of garbage is reported here again
    return;
  }
  // After the beginning of an answer a second one would be read as part of it.
  const begun = unanswered.some(({ headersSent }) => headersSent);
  if (!socket.writable || begun || error.code === 'ECONNRESET') return void socket.destroy();
  const { status, headers, body } = replyTo(error.code);
  const bytes = Buffer.from(String(body));
  const lines = Object.entries({ ...headers, 'content-length': bytes.length, connection: 'close', 'cache-control': 'no-store' });
  socket.write(`HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  socket.end(bytes, () => socket.destroy());
}

function replyTo(code: string | undefined): Reply {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return refuse(431, 'the headers are over 16 KiB', 'send fewer and shorter ones; data belongs in the body');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return refuse(413, 'the extensions of a chunk are over 16 KiB', 'send chunks without extensions');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return refuse(408, 'the request did not arrive in time', 'send headers within 10 s and the whole request within 60 s');
    default:
      return refuse(
        400,
        `this is no HTTP request (${code ?? 'unknown'})`,
        'check the request line, the headers, and lengths and chunks of the body',
      );
  }
}
