import { describe } from '@jest/globals';
import { openTestPlatform } from '../../testing/open-test-platform.ts';
import { describeSearchReplies } from './search-replies.contract.ts';

describe('a search over the embedded log with a model that does not repeat itself', () => {
  describeSearchReplies(openTestPlatform);
});
