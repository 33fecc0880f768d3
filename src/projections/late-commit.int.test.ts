import { describe } from '@jest/globals';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { describeLateCommit } from './late-commit.contract.ts';

describe('a projector that froze, over the embedded log', () => {
  describeLateCommit(openTestPlatform, ({ database }) =>
    database.pool.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'espalier log projections'",
    ),
  );
});
