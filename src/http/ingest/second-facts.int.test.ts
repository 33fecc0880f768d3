import { describe } from '@jest/globals';
import { openTestApi } from '../http-testing.ts';
import { describeSecondFacts } from './second-facts.contract.ts';

describe('second facts over the embedded log', () => {
  describeSecondFacts(openTestApi);
});
