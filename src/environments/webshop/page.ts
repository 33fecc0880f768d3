/** Where a buyer is in the shop. Immutable: copies of an episode share it. */
export type Page =
  | { readonly kind: 'search' }
  | ({ readonly kind: 'results' } & Listing)
  | ({ readonly kind: 'item' } & Visit)
  | ({ readonly kind: 'sub'; readonly sub: SubPage } & Visit)
  | { readonly kind: 'done'; readonly asin: string; readonly options: Chosen; readonly reward: number };

export const SUB_PAGES = ['Description', 'Features', 'Reviews'] as const;
export type SubPage = (typeof SUB_PAGES)[number];

/** Options that were chosen, by name. */
export type Chosen = Readonly<Record<string, string>>;

/** A page of what a search found. */
export interface Listing {
  readonly words: string;
  /** All that was found, best first. */
  readonly found: readonly string[];
  /** From 1 on. */
  readonly number: number;
}

/** A product that was opened, and the listing that it was opened from. */
export interface Visit {
  readonly asin: string;
  readonly options: Chosen;
  readonly from: Listing;
}

export const BUTTONS = { back: 'Back to Search', previous: '< Prev', next: 'Next >', buy: 'Buy Now', search: 'Search' } as const;
