import { choiceOption, numberOption, type RefusedOption, refuseOption } from '../method-options.ts';
import { spreadScalars } from '../rows/rows.ts';
import { maskedWhiten, standardise } from '../statistics/masked.ts';
import { ANY_ROWS, defineEstimator, type Estimated } from './estimator.ts';
import { carryGae, compactGae, denseGae, findUntrainedSpan, type RawGae, stepGae, tokenGaeAcrossSteps } from './gae.ts';
import { findSplitTrajectory } from './members.ts';

/**
 * Generalised advantage estimation (Schulman et al. 2016), A whitened over the trained tokens of the batch, or over its steps;
 * returns are not. The variants differ in what a token of a tool does to the recursion: see `gae.ts` and `step-gae.ts`. The
 * default uses the numbers of `carry` where a row is a whole trajectory, and goes on over the rows of one that has several;
 * `carry`, `compact` and `dense` are refused there.
 */
export const gaeEstimator = defineEstimator({
  name: 'gae',
  revision: '1',
  options: {
    variant: choiceOption('token-across-steps', 'carry', 'compact', 'dense', 'step'),
    gamma: numberOption(1, 0, 1),
    lambda: numberOption(1, 0, 1),
  },
  readiness: ({ variant }) => {
    const least = variant === 'step' ? { trainedSteps: 2 } : { trainedTokens: 2 };
    return { ...ANY_ROWS, columns: ['values'], ...least, ends: 'needed' };
  },
  reach: () => 'batch',
  estimate({ rewards, masks, values, bootstraps, trajectories, steps }, { variant, ...decay }) {
    if (values === null) return refuseOption('gae needs values');
    const split = ONE_ROW.has(variant) ? findSplitTrajectory(trajectories) : null;
    if (split !== null) return refusedSplit(variant, split);
    const input = { rewards, masks, values, bootstraps };
    const whitened = ({ raw, returns }: RawGae): Omit<Estimated, 'kind'> => ({ advantages: maskedWhiten(raw, masks), returns });
    switch (variant) {
      case 'carry':
        return whitened(carryGae(input, decay));
      case 'compact':
        return whitened(compactGae(input, decay));
      case 'token-across-steps':
        return whitened(tokenGaeAcrossSteps(input, { trajectories, steps }, decay));
      case 'dense': {
        const row = findUntrainedSpan(masks);
        return row === null ? whitened(denseGae(input, decay)) : refusedSpan(row);
      }
      case 'step': {
        const empty = masks.findIndex((mask) => mask.length === 0);
        if (empty !== -1) return refuseOption(`row ${empty} has no token to take a value from`);
        const { raw, returns } = stepGae(input, { trajectories, steps }, decay);
        return { advantages: spreadScalars(standardise(raw), masks), returns: spreadScalars(returns, masks) };
      }
    }
  },
});

/**
 * The variants that end at the end of a row: with a row for each turn, a turn would earn nothing of what the turns behind it
 * earn.
 */
const ONE_ROW: ReadonlySet<string> = new Set(['carry', 'compact', 'dense']);

function refusedSplit(variant: string, trajectory: string): RefusedOption {
  return refuseOption(
    `gae with variant=${variant} ends at the end of a row, and trajectory ${trajectory} has several: ` +
      'choose variant=token-across-steps (the default), or variant=step to take each step as one action',
  );
}

function refusedSpan(row: number): RefusedOption {
  return refuseOption(
    `dense GAE would take the values of untrained tokens: row ${row} has one after a trained token; choose carry or compact`,
  );
}
