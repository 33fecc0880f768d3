import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { live } from '../../../graphql/studio/generated/operations.ts';
import { NotLetIn } from '../graphql/faults.ts';
import { follow } from '../graphql/follow.ts';
import { authorization } from '../graphql/key.ts';

const GATHER_MS = 700; // events that come together ask once
const PATIENCE = 2; // times as long as the last answers took: the page asks for a third of the time at most while a record grows
const AGAIN_MS = 3_000;

/** `live` follows the record, `waiting` tries to, `past` shows a moment that does not change. */
export type LiveState = 'live' | 'waiting' | 'past';

/** Follows the record and asks again for what the page shows when events arrive; nothing is missed while the server is away. */
export function useLive(now: boolean): LiveState {
  const queries = useQueryClient();
  const [state, setState] = useState<LiveState>('waiting');
  useEffect(() => {
    if (!now) return setState('past');
    setState('waiting');
    const ended = new AbortController();
    let after: string | undefined;
    const refresh = refresher(queries, ended.signal);
    const hear = (message: FollowMessage) => {
      if (message.kind === 'event') after = message.position;
      if (message.kind !== 'again') setState(message.kind === 'waiting' ? 'waiting' : 'live');
      if (message.kind === 'event' || message.kind === 'again') refresh();
    };
    const hold = async (say: (message: FollowMessage) => void, signal: AbortSignal) => {
      while (!signal.aborted) {
        const open = setTimeout(() => say({ kind: 'live' }), GATHER_MS); // an open subscription says nothing until something happens
        try {
          const from = after === undefined ? {} : { after };
          await follow(live, from, ({ events }) => say({ kind: 'event', position: events.position }), signal);
        } catch (error) {
          if (signal.aborted) return;
          say({ kind: 'waiting' });
          if (error instanceof NotLetIn) return;
        } finally {
          clearTimeout(open);
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        say({ kind: 'again' });
      }
    };
    const { authorization: key = 'none' } = authorization();
    void followTogether(`espalier live ${key}`, hold, hear, ended.signal);
    return () => ended.abort();
  }, [now, queries]);
  return state;
}

/**
 * Returns what asks again for all that is shown, soon and not too often. A question that is under way goes on, or a tree that
 * grows faster than it is read would never be there; its answer may be older than the event, so it is asked once more behind it.
 */
function refresher(queries: QueryClient, signal: AbortSignal): () => void {
  let waiting: ReturnType<typeof setTimeout> | undefined;
  let asking = false;
  let missed = false;
  let took = 0;
  const refresh = (): void => {
    missed = asking;
    if (!asking) waiting ??= setTimeout(() => void ask(), Math.max(GATHER_MS, PATIENCE * took));
  };
  const ask = async () => {
    waiting = undefined;
    asking = true;
    const older = queries.isFetching() > 0;
    const began = performance.now();
    await queries.invalidateQueries(undefined, { cancelRefetch: false });
    took = performance.now() - began;
    asking = false;
    if ((older || missed) && !signal.aborted) refresh();
  };
  signal.addEventListener('abort', () => clearTimeout(waiting), { once: true });
  return refresh;
}

/** What follows the record says. `again` asks for all that is shown, as something may have been missed. */
type FollowMessage = { readonly kind: 'live' | 'waiting' | 'again' } | { readonly kind: 'event'; readonly position: string };

const BETWEEN_MS = 1_000; // longer than a stream takes to open

type Asked = { readonly kind: 'ask' };

/**
 * Follows the record once for all tabs that share a name. A stream holds a connection as long as it is open, and a browser opens
 * six to a server by HTTP/1.1: with a stream for each tab the seventh would wait for ever. One tab holds the stream and passes on
 * what it says; when that tab is closed the next one opens it. Where there are no locks (plain HTTP from another machine) a tab
 * follows on its own while it is visible.
 */
async function followTogether(
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
