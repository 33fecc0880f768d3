import { describe } from '@jest/globals';
import { openTestApi } from '../http-testing.ts';
import { describeExtremeValues } from './extreme-values.contract.ts';

describe('extreme values over the embedded log', () => {
  describeExtremeValues(openTestApi);
});
