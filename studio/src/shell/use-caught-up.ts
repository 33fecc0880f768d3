import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { state } from '../../../graphql/studio/generated/operations.ts';

const AGAIN_MS = 2_000;

/**
 * Asks once more for all that is shown when the read models have caught up with the log: what was answered before may lack events
 * that were recorded already, and no later event need come.
 * @param behind how many records the read models are behind; @param asked when that was answered.
 */
export function useCaughtUp(behind: number, asked: number): void {
  const queries = useQueryClient();
  const before = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: every answer, the same one too, is looked at
  useEffect(() => {
    const was = before.current;
    before.current = behind;
    if (behind > 0) {
      const timer = setTimeout(() => void queries.invalidateQueries({ queryKey: [state.name] }), AGAIN_MS);
      return () => clearTimeout(timer);
    }
    if (was > 0) void queries.invalidateQueries(undefined, { cancelRefetch: false });
    return undefined;
  }, [behind, asked, queries]);
}
