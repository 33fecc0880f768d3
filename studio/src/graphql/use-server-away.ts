import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useScriptAwaited } from '../parts/load.ts';
import { ServerAway } from './faults.ts';

/** Returns whether the server is away: from the first question or script that it does not answer until it answers one. */
export function useServerAway(): boolean {
  const queries = useQueryClient();
  const [away, setAway] = useState(false);
  const isAwaited = useScriptAwaited();
  useEffect(
    () =>
      queries.getQueryCache().subscribe((event) => {
        if (event.type !== 'updated') return;
        const { action } = event;
        if (action.type === 'success') setAway(false);
        else if ((action.type === 'failed' || action.type === 'error') && action.error instanceof ServerAway) setAway(true);
      }),
    [queries],
  );
  return away || isAwaited;
}
