import type { Ask } from './upstream.ts';

/**
 * What models were seen to refuse, by their names and who asked: a request can be made so that it is refused with what the record
 * asks for, and others would be recorded without their tokens.
 */
export interface RefusedExtras {
  /** What a model is asked for besides, where it refused more. */
  askOf(model: string): Ask | undefined;
  /** Takes note that a model refused by `status` what it answers when only `ask` is asked for. */
  note(model: string, ask: Ask, status: number): void;
}

const MODELS = 1_000;
const REMEMBERED_MS = 3_600_000; // a server may be started again with other options
const FORBIDDEN_MS = 60_000; // a 403 may be of a gateway or a quota, and pass

export function openRefusedExtras(now: () => number): RefusedExtras {
  const refusals = new Map<string, { readonly ask: Ask; readonly until: number }>();
  return {
    askOf(model) {
      const refusal = refusals.get(model);
      if (refusal && refusal.until > now()) return refusal.ask;
      refusals.delete(model);
      return undefined;
    },
    note(model, ask, status) {
      refusals.delete(model); // the newest stand last
      const [oldest] = refusals.keys();
      if (oldest !== undefined && refusals.size >= MODELS) refusals.delete(oldest);
      refusals.set(model, { ask, until: now() + (status === 403 ? FORBIDDEN_MS : REMEMBERED_MS) });
    },
  };
}
