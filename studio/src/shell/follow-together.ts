/** What follows the record says. `again` asks for all that is shown, as something may have been missed. */
export type FollowMessage =
  | { readonly kind: 'live' | 'waiting' | 'again' }
  | { readonly kind: 'event'; readonly position: string };

const BETWEEN_MS = 1_000; // longer than a stream takes to open

type Asked = { readonly kind: 'ask' };

/**
 * Follows the record once for all tabs that share a name. A stream holds a connection as long as it is open, and a browser opens
 * six to a server by HTTP/1.1: with a stream for each tab the seventh would wait for ever. One tab holds the stream and passes on
 * what it says; when that tab is closed the next one opens it. Where there are no locks (plain HTTP from another machine) a tab
 * follows on its own while it is visible.
 */
export async function followTogether(
  name: string,
  hold: (say: (message: FollowMessage) => void, signal: AbortSignal) => Promise<void>,
  hear: (message: FollowMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  if (!navigator.locks) return followWhileVisible(hold, hear, signal);
  const channel = new BroadcastChannel(name);
  let last: FollowMessage | undefined; // what the stream of this tab said of itself
  channel.onmessage = ({ data }: MessageEvent<FollowMessage | Asked>) => {
    if (data.kind !== 'ask') hear(data);
    else if (last) channel.postMessage(last);
  };
  signal.addEventListener('abort', () => channel.close(), { once: true });
  channel.postMessage({ kind: 'ask' } satisfies Asked);
  const say = (message: FollowMessage) => {
    if (signal.aborted) return;
    last = message.kind === 'waiting' ? message : { kind: 'live' };
    hear(message);
    channel.postMessage(message);
  };
  const { held = [] } = await navigator.locks.query();
  const inherits = held.some((lock) => lock.name === name);
  try {
    await navigator.locks.request(name, { signal }, () => {
      if (inherits) setTimeout(() => say({ kind: 'again' }), BETWEEN_MS); // nobody listened between the two streams
      return hold(say, signal);
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function followWhileVisible(
  hold: (say: (message: FollowMessage) => void, signal: AbortSignal) => Promise<void>,
  hear: (message: FollowMessage) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const hidden = new AbortController();
    const look = () => document.hidden && hidden.abort();
    document.addEventListener('visibilitychange', look);
    look();
    if (!hidden.signal.aborted) await hold(hear, AbortSignal.any([signal, hidden.signal]));
    document.removeEventListener('visibilitychange', look);
    if (!hidden.signal.aborted) return;
    await untilVisible(signal);
    if (!signal.aborted) hear({ kind: 'again' });
  }
}

function untilVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look, { once: true });
    look();
  });
}
