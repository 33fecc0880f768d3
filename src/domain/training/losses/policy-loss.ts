import { type Chosen, chooseOptions, type Mode, type OptionRules, type Refused, refused } from '../options.ts';
import { at, buildRows, findMisfit, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { type Aggregation, aggregate, aggregationWeights } from './aggregation.ts';

/** What a policy loss is computed from, each a number per token. Only trained tokens count. */
export interface PolicyLossInput {
  /** log π of the policy that is being updated. */
  readonly logProbs: Rows;
  /** log π of the policy at the start of the update. */
  readonly oldLogProbs: Rows;
  readonly advantages: Rows;
  readonly masks: Masks;
  /** Importance weights of the rollout correction, which multiply the token losses; null for none. */
  readonly weights: Rows | null;
}

export interface PolicyLossValue {
  readonly kind: 'loss';
  readonly loss: number;
  /** The loss of each token before aggregation, also outside the mask. */
  readonly tokenLosses: Rows;
  /** d loss / d logProb of each token; 0 outside the mask. What is stop-gradient upstream is constant here. */
  readonly gradient: Rows;
  readonly metrics: Readonly<Record<string, number>>;
}

/** The loss and slope (d loss / d logProb) of one token. */
export interface TokenLoss {
  readonly loss: number;
  readonly slope: number;
}

export interface ConfiguredPolicyLoss {
  readonly name: string;
  readonly revision: string;
  readonly mode: Mode;
  /** Computes loss and gradient; refuses columns that do not fit the masks and log-probs that are not finite. */
  evaluate(input: PolicyLossInput, aggregation: Aggregation): PolicyLossValue | Refused;
}

export interface PolicyLoss {
  readonly name: string;
  readonly revision: string;
  readonly options: OptionRules;
  configure(
    given: Readonly<Record<string, unknown>>,
  ): { readonly kind: 'configured'; readonly policyLoss: ConfiguredPolicyLoss } | Refused;
}

interface Definition<R extends OptionRules> {
  readonly name: string;
  readonly revision: string;
  readonly options: R;
  /** Where the published loss fixes its aggregation whatever was asked for. */
  aggregation?(asked: Aggregation): Aggregation;
  /** Prepares what all tokens share and answers the loss of one. */
  tokenLoss(input: PolicyLossInput, options: Chosen<R>): (row: number, t: number) => TokenLoss;
  metrics(input: PolicyLossInput, tokenLosses: Rows, options: Chosen<R>): Readonly<Record<string, number>>;
}

/** Makes a policy loss of the loss of one token: weights, aggregation and the chain rule are the same for all. */
export function definePolicyLoss<const R extends OptionRules>(definition: Definition<R>): PolicyLoss {
  const { name, revision, options: rules } = definition;
  return {
    name,
    revision,
    options: rules,
    configure(given) {
      const chosen = chooseOptions(rules, given);
      if (chosen.kind === 'refused') return refused(`policy loss ${name}: ${chosen.reason}`);
      const { options, mode } = chosen;
      const evaluate = (input: PolicyLossInput, asked: Aggregation): PolicyLossValue | Refused => {
        const malformed = findMalformed(input);
        if (malformed !== null) return refused(`${name} cannot take these rows: ${malformed}`);
        const lossOf = definition.tokenLoss(input, options);
        const shares = aggregationWeights(input.masks, definition.aggregation?.(asked) ?? asked);
        const slopes: Float64Array[] = input.masks.map((mask) => new Float64Array(mask.length));
        const tokenLosses = buildRows(input.masks, (row, t) => {
          const { loss, slope } = lossOf(row, t);
          const weight = input.weights === null ? 1 : at(rowAt(input.weights, row), t);
          const share = at(rowAt(shares, row), t);
          rowAt(slopes, row)[t] = share === 0 ? 0 : share * weight * slope;
          return loss * weight;
        });
        const metrics = definition.metrics(input, tokenLosses, options);
        return { kind: 'loss', loss: aggregate(tokenLosses, shares), tokenLosses, gradient: slopes, metrics };
      };
      return { kind: 'configured', policyLoss: { name, revision, mode, evaluate } };
    },
  };
}

function findMalformed({ masks, weights, ...columns }: PolicyLossInput): string | null {
  for (const [name, rows] of Object.entries({ ...columns, ...(weights === null ? {} : { weights }) })) {
    const misfit = findMisfit(name, rows, masks);
    if (misfit !== null) return misfit;
    const broken = masks.findIndex((mask, row) => rowAt(rows, row).some((value, t) => mask[t] === 1 && !Number.isFinite(value)));
    if (broken !== -1) return `row ${broken} of ${name} holds a number that is not finite on a trained token`;
  }
  return null;
}
