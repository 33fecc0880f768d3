import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { live } from '../../../graphql/studio/generated/operations.ts';
import { NotLetIn } from '../graphql/faults.ts';
import { follow } from '../graphql/follow.ts';
import { authorization } from '../graphql/key.ts';
import { type FollowMessage, followTogether } from './follow-together.ts';

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
