/** A product of the shop. */
export interface Product {
  /** Ten letters and digits, as the shop shows it. */
  readonly asin: string;
  readonly title: string;
  /** The nouns of the title in lower case, which the rule compares: the published program asks a tagger for them. */
  readonly nouns: readonly string[];
  readonly query: string;
  readonly category: string;
  readonly path: readonly string[];
  readonly attributes: readonly string[];
  readonly features: readonly string[];
  readonly description: string;
  /** In dollars. */
  readonly price: number;
  /** Values to choose from, by the option's name. */
  readonly options: Readonly<Record<string, readonly string[]>>;
}

/** What a buyer is asked to buy. */
export interface Goal {
  readonly asin: string;
  readonly instruction: string;
  readonly query: string;
  readonly category: string;
  readonly path: readonly string[];
  readonly nouns: readonly string[];
  readonly attributes: readonly string[];
  readonly options: readonly { readonly name: string; readonly value: string }[];
  readonly priceUpper: number;
}
