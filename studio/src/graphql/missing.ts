import { hashKey, type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';

/** A fault of GraphQL: what it is, and the place in the answer that it left empty. */
export interface Fault {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code?: string };
}

/** A field that could not be answered, in however many places of what is shown. */
export interface Missing {
  readonly field: string;
  readonly code: string;
  readonly message: string;
  readonly times: number;
}

const faults = new Map<string, Map<string, readonly Fault[]>>(); // by the question, and by the part of it

/** Notes what a part of a question could not answer, or that nothing is missing in it any more. */
export function noteFaults(question: QueryKey, part: string, found: readonly Fault[]): void {
  const hash = hashKey(question);
  const parts = faults.get(hash) ?? new Map<string, readonly Fault[]>();
  if (found.length === 0) parts.delete(part);
  else parts.set(part, found);
  if (parts.size === 0) faults.delete(hash);
  else faults.set(hash, parts);
}

/** Returns what the questions that the page shows could not answer: data came, and some fields of it did not. */
export function useMissing(): readonly Missing[] {
  const cache = useQueryClient().getQueryCache();
  const [missing, setMissing] = useState<readonly Missing[]>([]);
  useEffect(() => {
    const look = () => {
      const asked = cache.findAll({ type: 'active' }).flatMap(({ queryHash }) => [...(faults.get(queryHash)?.values() ?? [])]);
      const next = gathered(asked.flat());
      setMissing((now) => (JSON.stringify(now) === JSON.stringify(next) ? now : next));
    };
    look();
    return cache.subscribe((event) => {
      if (event.type === 'removed') faults.delete(event.query.queryHash);
      look();
    });
  }, [cache]);
  return missing;
}

/** Returns each field once, by what was said of it. */
export function gathered(found: readonly Fault[]): readonly Missing[] {
  const missing = new Map<string, Missing>();
  for (const { message, path = [], extensions } of found) {
    const names = path.filter((part) => typeof part === 'string');
    const field = (names[0] === 'asOf' ? names.slice(1) : names).join('.') || 'the answer';
    const code = extensions?.code ?? 'ERROR';
    const key = JSON.stringify([field, code, message]);
    missing.set(key, { field, code, message, times: (missing.get(key)?.times ?? 0) + 1 });
  }
  return [...missing.values()];
}
