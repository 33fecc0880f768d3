import { describe } from '@jest/globals';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { describeFrozenExperiment } from './frozen-experiment.contract.ts';

describe('an experiment that froze, over the embedded log', () => {
  describeFrozenExperiment(openTestPlatform);
});
