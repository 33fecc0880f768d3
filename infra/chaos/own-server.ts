import { startEmbeddedPostgres } from '../../src/postgres/embedded-server.ts';

// Uses the server of a folder until it is asked to end, or killed: the first of these starts it.
const server = await startEmbeddedPostgres({ folder: process.argv[2] ?? '', durability: 'fsync' });
process.stderr.write('using the server\n');
const idle = setInterval(() => undefined, 60_000);
process.once('SIGTERM', () => {
  clearInterval(idle);
  void server.close();
});
