import type { StepReadAgainQuery, StepTokensQuery } from '../../../graphql/studio/generated/operations.ts';
import { unpack } from '../parts/unpack.ts';

type Sampled = NonNullable<StepTokensQuery['step']>;
type Again = NonNullable<NonNullable<StepReadAgainQuery['step']>['estimate']>['readAgain'];

/** A sampled token, with what is recorded and computed of it; null is what is not known. */
export interface TokenRow {
  readonly place: number;
  readonly id: number;
  readonly text: string | null;
  readonly logProb: number | null;
  readonly entropy: number | null;
  /** The policy sampled it; what was given to it is not trained. */
  readonly trained: boolean;
  readonly advantage: number | null;
  /** By the version that resulted from training on it, and how much more that is than when it was sampled. */
  readonly newLogProb: number | null;
  readonly change: number | null;
}

/**
 * Puts together what is known of each token of a step. Advantages are of the tokens that the policy sampled, in their order.
 * @param again what versions give to the step, computed again: where it sampled one token, that is the token's, and holds where
 * nothing is recorded.
 */
export function tokenRows({ tokens, tokenTexts, estimate }: Sampled, again: Again = null): readonly TokenRow[] {
  if (tokens === null) return [];
  const [ids, logProbs, mask, entropies] = [
    unpack(tokens.ids),
    tokens.logProbs && unpack(tokens.logProbs),
    tokens.mask && unpack(tokens.mask),
    tokens.entropies && unpack(tokens.entropies),
  ];
  const only = tokens.ids.length === 1 && mask?.[0] !== 0 ? again : null;
  let sampled = 0;
  return Array.from(ids, (id, place): TokenRow => {
    const trained = mask === null || mask[place] === 1;
    const own = trained ? estimate?.tokenAdvantages?.[sampled] : undefined;
    const newLogProb = (trained ? estimate?.newLogProbs?.[sampled] : undefined) ?? only?.after?.logProb ?? null;
    const logProb = logProbs?.[place] ?? null;
    if (trained) sampled++;
    return {
      place,
      id,
      trained,
      text: tokenTexts?.[place] ?? null,
      logProb,
      newLogProb,
      change: newLogProb === null || logProb === null ? null : newLogProb - logProb,
      entropy: entropies?.[place] ?? only?.before?.entropy ?? null,
      advantage: trained ? (own ?? estimate?.advantage ?? null) : null,
    };
  });
}
