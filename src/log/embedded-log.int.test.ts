import { connect } from '../postgres/pool.ts';
import { createTestDatabase } from '../testing/database.ts';
import { openEmbeddedLog } from './embedded-log.ts';
import { describeEventLog } from './event-log.contract.ts';

describeEventLog('embedded', async () => {
  const database = await createTestDatabase();
  const log = await openEmbeddedLog({ url: database.url });
  return {
    log,
    second: () => openEmbeddedLog({ url: database.url }),
    // Without its table the log cannot be read, and no new connection brings it back.
    async breakFatally() {
      await alter(database.url, "alter table log_records rename to log_records_gone; select pg_notify('espalier_log', '')");
      return () => alter(database.url, 'alter table log_records_gone rename to log_records');
    },
    async cleanup() {
      await log.close();
      await database.drop();
    },
  };
});

async function alter(url: string, sql: string): Promise<void> {
  const client = await connect(url);
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
