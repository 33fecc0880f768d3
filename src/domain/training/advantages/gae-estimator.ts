import { choiceOption, numberOption, type Refused, refused } from '../options.ts';
import { spreadScalars } from '../rows/rows.ts';
import { maskedWhiten } from '../statistics/masked.ts';
import { standardise } from '../statistics/standardise.ts';
import { ANY_ROWS, defineEstimator, type Estimated } from './estimator.ts';
import { carryGae, compactGae, denseGae, findUntrainedSpan, type RawGae } from './gae.ts';
import { stepGae, tokenGaeAcrossSteps } from './step-gae.ts';

/**
 * Generalised advantage estimation (Schulman et al. 2016), A whitened over the trained tokens of the batch, or over its steps; returns are not. The
 * variants differ in what a token of a tool does to the recursion: see `gae.ts` and `step-gae.ts`. `dense` is refused where it would be wrong.
 */
export const gaeEstimator = defineEstimator({
  name: 'gae',
  revision: '1',
  options: {
    variant: choiceOption('carry', 'compact', 'dense', 'step', 'token-across-steps'),
    gamma: numberOption(1, 0, 1),
    lambda: numberOption(1, 0, 1),
  },
  readiness: () => ({ ...ANY_ROWS, columns: ['values'], trainedTokens: 2, ends: 'needed' }),
  estimate({ rewards, masks, values, bootstraps, trajectories, steps }, { variant, ...decay }) {
    if (values === null) return refused('gae needs values');
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
        if (empty !== -1) return refused(`row ${empty} has no token to take a value from`);
        if (masks.length < 2) return refused('step whitening needs two steps');
        const { raw, returns } = stepGae(input, { trajectories, steps }, decay);
        return { advantages: spreadScalars(standardise(raw), masks), returns: spreadScalars(returns, masks) };
      }
    }
  },
});

function refusedSpan(row: number): Refused {
  return refused(
    `dense GAE would take the values of untrained tokens: row ${row} has one after a trained token; choose carry or compact`,
  );
}
