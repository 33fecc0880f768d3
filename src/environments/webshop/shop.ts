import type { Retriever } from '../retrieval/retriever.ts';
import type { Product } from './product.ts';

export const HITS = 50; // products that a search finds at most
export const SHOWN = 10; // on a page

/** The products of a shop and its search. */
export interface Shop {
  readonly products: ReadonlyMap<string, Product>;
  readonly retriever: Retriever;
}

/** What a product is found by, as WebShop indexes it: title, description, first feature, options. */
export function documentOf({ asin, title, description, features, options }: Product) {
  const choices = Object.entries(options).map(([name, values]) => `${name}: ${values.join(', ')}`);
  return { id: asin, contents: [title, description, features[0], choices.join(', and ')].join(' ').toLowerCase() };
}

/** Returns the ids of the products that a search finds, best first. */
export async function searchShop({ retriever }: Shop, words: string, signal?: AbortSignal): Promise<readonly string[]> {
  const [hits = []] = await retriever.search([words], HITS, signal);
  return hits.map(({ id }) => id);
}
