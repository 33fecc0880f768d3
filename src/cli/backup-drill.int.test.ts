import { describeDrill } from './backup-drill.contract.ts';

describeDrill('with the log in Postgres', async () => undefined);
