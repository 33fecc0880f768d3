import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { type SentMessage, StatementFrames } from './statement-frames.ts';

/** An address in front of a server whose connections a test can cut, as a broken network or a stopped server would. */
export interface CuttableProxy {
  readonly url: string;
  /** Breaks every connection and refuses new ones. */
  cut(): void;
  /** Lets connections through again. */
  restore(): void;
  /** Breaks one connection at the next such moment; others may be made meanwhile. False when none comes in time. */
  cutAt(moment: WorstMoment, limitMs: number): Promise<boolean>;
  close(): Promise<void>;
}

/** A moment in a conversation with Postgres. */
export interface WorstMoment {
  /** Messages by type and text, `B log-append`; all on one connection and in this order, the last one is the moment. */
  readonly messages: readonly RegExp[];
  /** `unsent`: the server does not get the last one. `unanswered`: it does, and its answer does not come. */
  readonly fate: 'unsent' | 'unanswered';
}

interface Trap extends WorstMoment {
  readonly sprung: () => void;
}

/** Starts a proxy on a free port of 127.0.0.1 in front of the server of a URL. */
export async function startCuttableProxy(url: string): Promise<CuttableProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let isCut = false;
  let trap: Trap | undefined;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    const { sent, answered } = watch(
      () => trap,
      (sprung) => {
        if (sprung === trap) trap.sprung(); // not when another connection was quicker, or nobody waits any more
        near.destroy();
        far.destroy();
      },
    );
    near.pipe(sent).pipe(far);
    far.pipe(answered).pipe(near);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has an address with a port');
  const front = new URL(url);
  front.port = String(address.port);
  front.searchParams.delete('host'); // of a Unix socket
  const cut = (): void => {
    isCut = true;
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: front.toString(),
    cut,
    restore() {
      isCut = false;
    },
    async cutAt(moment, limitMs) {
      let timer: NodeJS.Timeout | undefined;
      const met = await new Promise<boolean>((resolve) => {
        trap = { ...moment, sprung: () => resolve(true) };
        timer = setTimeout(() => resolve(false), limitMs);
      });
      clearTimeout(timer);
      trap = undefined;
      return met;
    },
    async close() {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Watches one connection for the moment of a trap: what passes through both ways, until it is sprung. */
function watch(
  trapNow: () => Trap | undefined,
  spring: (trap: Trap) => void,
): { readonly sent: Transform; readonly answered: Transform } {
  const frames = new StatementFrames();
  let trap: Trap | undefined;
  let met = 0;
  let unanswered: Trap | undefined;

  /** Returns how much of the chunk still goes to the server; undefined for all. */
  function look(messages: readonly SentMessage[]): number | undefined {
    if (trap !== trapNow()) [trap, met] = [trapNow(), 0];
    if (!trap) return undefined;
    for (const { type, text, start } of messages) {
      if (!trap.messages[met]?.test(`${type} ${text}`)) continue;
      if (++met < trap.messages.length) continue;
      if (trap.fate === 'unsent') return Math.max(0, start);
      unanswered = trap;
      return undefined;
    }
    return undefined;
  }
  return {
    sent: new Transform({
      transform(chunk: Uint8Array, _, done) {
        const upTo = look(frames.feed(chunk));
        done(null, upTo === undefined ? chunk : chunk.subarray(0, upTo));
        if (upTo !== undefined && trap) spring(trap);
      },
    }),
    answered: new Transform({
      transform(chunk: Uint8Array, _, done) {
        if (!unanswered) return done(null, chunk);
        done();
        spring(unanswered);
      },
    }),
  };
}
