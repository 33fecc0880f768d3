import { describe } from '@jest/globals';
import { openTestApi } from '../http-testing.ts';
import { describeOwners } from './owners.contract.ts';

describe('owners over the embedded log', () => {
  describeOwners(openTestApi);
});
