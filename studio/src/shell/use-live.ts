import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { NotLetIn } from '../graphql/faults.ts';
import { follow } from '../graphql/follow.ts';
import { live } from '../graphql/generated/operations.ts';

const GATHER_MS = 700; // events that come together ask once
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
    let gathering: ReturnType<typeof setTimeout> | undefined;
    const refresh = () => {
      gathering ??= setTimeout(() => {
        gathering = undefined;
        void queries.invalidateQueries();
      }, GATHER_MS);
    };
    const run = async () => {
      while (!ended.signal.aborted) {
        const open = setTimeout(() => setState('live'), GATHER_MS); // an open subscription says nothing until something happens
        try {
          await follow(
            live,
            after === undefined ? {} : { after },
            ({ events }) => {
              after = events.position;
              setState('live');
              refresh();
            },
            ended.signal,
          );
        } catch (error) {
          if (ended.signal.aborted) return;
          setState('waiting');
          if (error instanceof NotLetIn) return;
        } finally {
          clearTimeout(open);
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        refresh();
      }
    };
    void run();
    return () => {
      ended.abort();
      clearTimeout(gathering);
    };
  }, [now, queries]);
  return state;
}
