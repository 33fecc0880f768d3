import { doubling, rest, retry } from '../runtime/retry.ts';
import { connect } from './pool.ts';

export interface Notice {
  readonly channel: string;
  readonly payload: string;
}

export interface ListenOptions {
  /**
   * Called after a lost connection was made again. Notices sent meanwhile are gone: whoever waits for something looks again now.
   */
  readonly onReconnect?: () => void;
}

export interface Listening {
  close(): Promise<void>;
}

const CHANNEL = /^[a-z_][a-z0-9_]{0,62}$/; // an identifier that needs no quotes
const pauseOf = doubling(50, 2_000);

/**
 * Listens to channels of NOTIFY on a connection of its own, until closed. A lost connection is made again, for as long as it
 * takes: a notice is only a hint to look, so whoever waits also looks every now and then, and fails by itself when the database
 * stays away.
 * @throws RangeError on a channel that is no plain identifier; what the first connection throws.
 */
export async function listen(
  url: string,
  channels: readonly string[],
  onNotice: (notice: Notice) => void,
  options: ListenOptions = {},
): Promise<Listening> {
  const bad = channels.find((channel) => !CHANNEL.test(channel));
  if (bad !== undefined)
    throw new RangeError(`${JSON.stringify(bad.slice(0, 80))} is no channel name: small letters, digits and _`);
  const closing = new AbortController();
  let client = await open();
  const ended = keepOpen();
  return {
    async close() {
      closing.abort();
      await client.end().catch(() => undefined);
      await ended;
    },
  };

  async function open() {
    const opened = await connect(url, 'espalier listen');
    opened.on('error', () => undefined); // its end is what we act on
    opened.on('notification', ({ channel, payload = '' }) => onNotice({ channel, payload }));
    try {
      for (const channel of channels) await opened.query(`listen ${channel}`);
    } catch (error) {
      await opened.end().catch(() => undefined);
      throw error;
    }
    return opened;
  }

  async function keepOpen(): Promise<void> {
    const { signal } = closing;
    while (!signal.aborted) {
      await ending(client);
      await rest(pauseOf(1), signal);
      const opened = await retry(async () => (signal.aborted ? undefined : open()), {
        signal,
        sleep: rest,
        again: () => true,
        pauseMs: (tries) => pauseOf(tries + 1),
      });
      if (!opened) return;
      client = opened;
      if (signal.aborted) await client.end().catch(() => undefined);
      else options.onReconnect?.();
    }
  }
}

/** Resolves when the connection has ended; at once when it ended before we looked. */
async function ending(client: Awaited<ReturnType<typeof connect>>): Promise<void> {
  const ended = new Promise<void>((resolve) => client.once('end', resolve));
  // A query on an ended connection rejects, so an end that came before the line above is not waited for.
  await Promise.race([
    ended,
    client.query('select 1').then(
      () => ended,
      () => undefined,
    ),
  ]);
}

/** A count of notices. Who reads `count`, then looks, then waits `beyond` it, misses nothing that came in between. */
export interface Notices {
  /** How many notices have come; a connection made again counts as one, for what was missed. */
  readonly count: number;
  /** Resolves as soon as more than `count` have come, after `limitMs`, or when the signal aborts. */
  beyond(count: number, limitMs: number, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

export interface CountOptions {
  /** Whether a notice counts; all when left out. */
  readonly counts?: (notice: Notice) => boolean;
  /** Whether each counts again after pauses: a standby has what a notice of its primary says some time later. */
  readonly echo?: boolean;
}

const ECHO_MS = 20;
const ECHOES = 6; // the last after 1.3 s; who waits for longer looks again by itself

/** Counts the notices of channels until closed. One connection serves any number of waiters. @throws as `listen`. */
export async function countNotices(url: string, channels: readonly string[], options: CountOptions = {}): Promise<Notices> {
  const { counts = () => true, echo = false } = options;
  let count = 0;
  const waiters = new Set<() => void>();
  let echoing: NodeJS.Timeout | undefined;
  const wakeAll = (): void => {
    count++;
    for (const wake of [...waiters]) wake();
  };
  const echoAfter = (echoes: number): void => {
    clearTimeout(echoing);
    if (echoes > ECHOES) return;
    echoing = setTimeout(
      () => {
        wakeAll();
        echoAfter(echoes + 1);
      },
      ECHO_MS * 2 ** (echoes - 1),
    ).unref();
  };
  let last = 0;
  const onNotice = (): void => {
    wakeAll();
    if (!echo || performance.now() - last < ECHO_MS) return; // the echo of the one before comes soon
    last = performance.now();
    echoAfter(1);
  };
  const onEach = (notice: Notice) => counts(notice) && onNotice();
  const listening = await listen(url, channels, onEach, { onReconnect: onNotice });
  return {
    get count() {
      return count;
    },
    async beyond(seen, limitMs, signal) {
      if (count > seen || signal.aborted) return;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(wake, limitMs);
        waiters.add(wake);
        signal.addEventListener('abort', wake);
        function wake(): void {
          clearTimeout(timer);
          waiters.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        }
      });
    },
    async close() {
      clearTimeout(echoing);
      await listening.close();
      for (const wake of [...waiters]) wake();
    },
  };
}
