import { describe } from '@jest/globals';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { describeFrozenSelfTraining } from './frozen-self-train.contract.ts';

describe('a self-training that froze, over the embedded log', () => {
  describeFrozenSelfTraining(openTestPlatform);
});
