import { describe } from '@jest/globals';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { describeLateCommit } from './late-commit.contract.ts';

describe('a projector that froze, over the embedded log', () => {
  describeLateCommit(openTestPlatform, ({ database }) =>
    database.pool.query("update log_members set expires_at = clock_timestamp() - interval '1 second'"),
  );
});
