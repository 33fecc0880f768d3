import { openCache } from '../../runtime/cache.ts';
import type { Layout } from '../../training/rows/layout.ts';

/** The form in which a trainer reads rows. */
export interface RowFormat {
  readonly layout: Layout;
  readonly advantages: 'with' | 'without';
}

/** What trainers asked this server for, and when. */
export interface RowFormatHints {
  /** Notes that the batches of a policy are read in this form, now. */
  note(policyId: string, format: RowFormat): void;
  /** Notes that one was leased, now; the form that the lease names counts until rows of the policy are read. */
  leased(policyId: string, format: RowFormat): void;
  /** Notes that something was asked for, now. */
  touch(): void;
  /** Returns the form in which the batches of a policy were read last; that of a trainer that says nothing of it otherwise. */
  wantedBy(policyId: string): RowFormat;
  /** Returns the policies of which a batch was asked for in the last `ms`. */
  within(ms: number): readonly string[];
  /** Returns how long nobody has asked for anything, ms. */
  quietMs(): number;
}

const POLICIES = 1_000;
const PLAIN: RowFormat = { layout: 'step', advantages: 'without' };

/** @param now ms since any moment; a test's own clock. */
export function openRowFormatHints(now: () => number = () => performance.now()): RowFormatHints {
  const cache = openCache<RowFormat & { readonly at: number }>({ max: POLICIES });
  let last = Number.NEGATIVE_INFINITY;
  const touch = () => {
    last = now();
  };
  return {
    note(policyId, wanted) {
      touch();
      cache.set(policyId, { ...wanted, at: last });
    },
    leased(policyId, wanted) {
      touch();
      cache.set(policyId, { ...(cache.get(policyId) ?? wanted), at: last });
    },
    touch,
    wantedBy(policyId) {
      const { layout, advantages } = cache.get(policyId) ?? PLAIN;
      return { layout, advantages };
    },
    within: (ms) => [...cache.entries()].flatMap(([policyId, { at }]) => (now() - at <= ms ? [policyId] : [])),
    quietMs: () => now() - last,
  };
}
