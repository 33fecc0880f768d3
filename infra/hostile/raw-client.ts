import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Broken } from './target.ts';

/** The outcome of one connection. */
export interface Talk {
  /** All that the server sent. */
  readonly received: string;
  /** How long until the server ended the connection, ms. */
  readonly ms: number;
}

/** What one client does on its connection. */
export interface Client {
  /** Written one after the other. */
  readonly pieces: readonly Buffer[];
  /** Between two pieces, ms. */
  readonly pauseMs: number;
  /** Signals after the last piece that nothing follows, or keeps the connection open and waits. */
  readonly behind: 'end' | 'wait';
  /** Reads what it is sent, or lets it lie. */
  readonly reads: 'all' | 'nothing';
}

const END_MS = 10_000;

/** Opens a connection, says the pieces, and waits for the server to end it. @throws Broken when it does not within the limit. */
export async function talk(url: string, client: Client, limitMs: number): Promise<Talk> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  const began = performance.now();
  let received = '';
  const read = () =>
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
    });
  if (client.reads === 'all') read();
  const ended = new Promise<'ended'>((resolve) => {
    socket.once('end', () => resolve('ended')).once('close', () => resolve('ended'));
    socket.on('error', () => resolve('ended')); // a reset is an end
  });
  // What waits in the backlog of the kernel is not served yet: a thousand at once are let in one after the other.
  await Promise.race([ended, new Promise((resolve) => socket.once('connect', resolve))]);
  const limit = new AbortController();
  const late = delay(limitMs, 'late' as const, { signal: limit.signal }).catch(() => 'late' as const);
  const saying = say(socket, client);
  let how = await Promise.race([ended, late]);
  if (how === 'late' && client.reads === 'nothing') {
    // The end follows what was not read: it is seen by reading that.
    read().resume();
    how = await Promise.race([ended, delay(END_MS, 'late' as const)]);
  }
  limit.abort();
  socket.destroy();
  await saying;
  if (how === 'late')
    throw new Broken(`stuck: the connection was open for ${limitMs} ms, and said ${JSON.stringify(received.slice(0, 200))}`);
  return { received, ms: performance.now() - began };
}

async function say(socket: Socket, { pieces, pauseMs, behind, reads }: Client): Promise<void> {
  for (const [i, piece] of pieces.entries()) {
    if (i > 0 && pauseMs > 0) await delay(pauseMs);
    if (socket.destroyed || !socket.writable) return;
    socket.write(piece);
  }
  if (behind === 'end' && socket.writable) socket.end();
  if (reads === 'nothing') socket.pause();
}

/** The status codes of all answers in what a server sent. */
export function statusesIn(received: string): readonly number[] {
  return [...received.matchAll(/(?:^|[\n}])HTTP\/1\.[01] (\d{3}) /g)].map(([, code]) => Number(code));
}
