import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Reply, refuse } from './reply.ts';

/**
 * Answers what never became a request (no HTTP, too many headers, too slow) in the form of every refusal, and ends the
 * connection.
 * @param unanswered what was asked on this connection before and is not answered in full. Whole requests get their answers first:
 * what was appended is reported.
 */
export function answerUnread(
  error: Error & { readonly code?: string },
  socket: Duplex,
  unanswered: readonly ServerResponse[],
): void {
  const whole = unanswered.filter(({ req }) => req.complete);
  const last = whole.at(-1);
  if (last && whole.length === unanswered.length && error.code !== 'ECONNRESET') {
    // Each piece of garbage comes here again; it is not read any more, else a client that does not read its answers would hold
    // them by sending it.
    if (ending.has(socket)) return;
    ending.add(socket);
    socket.pause();
    last.shouldKeepAlive = false;
    last.once('close', () => socket.destroy());
    return;
  }
  // Behind the beginning of an answer a second one would be read as a part of it.
  const begun = unanswered.some(({ headersSent }) => headersSent);
  if (!socket.writable || begun || error.code === 'ECONNRESET') return void socket.destroy();
  endWith(socket, replyTo(error.code));
}

/**
 * Ends a connection in favour of another: with the reason, where its client waits for an answer and would not take it for
 * that of something else.
 */
export function cutEvicted(socket: Duplex, unanswered: readonly ServerResponse[]): void {
  if (!socket.writable || unanswered.some(({ headersSent }) => headersSent)) return void socket.destroy();
  const remedy = 'send a whole request as soon as you are connected, or try again in a moment';
  endWith(socket, refuse(503, 'every connection is taken, and this one kept the server waiting for longest', remedy));
}

function endWith(socket: Duplex, { status, headers, body }: Reply): void {
  const bytes = Buffer.from(String(body));
  const lines = Object.entries({ ...headers, 'content-length': bytes.length, connection: 'close', 'cache-control': 'no-store' });
  socket.write(`HTTP/1.1 ${status} Refused\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`);
  socket.end(bytes, () => socket.destroy());
}

/** Connections that end behind the answers that are owed. */
const ending = new WeakSet<Duplex>();

function replyTo(code: string | undefined): Reply {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return refuse(
        431,
        'the headers are over 16 KiB',
        'send fewer and shorter ones; what a request is about goes into its body',
      );
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
