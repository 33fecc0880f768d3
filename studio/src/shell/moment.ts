import { useSearch } from '@tanstack/react-router';
import type { Moment } from '../graphql/ask.ts';

/** Returns the moment of the record that the whole page shows: `?at=` of the address, null for now. */
export function useMoment(): Moment {
  const { at } = useSearch({ from: '__root__' });
  return at ?? null;
}
