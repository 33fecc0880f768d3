import { parseArgs } from 'node:util';
import { startKafka } from './start-kafka.ts';

const HELP = `Starts a Kafka broker on this machine and keeps it until Ctrl-C. Needs Java 17 and Maven, no Docker.

  npm run kafka -- [--port N] [--folder DIR]

  --port N       listen on 127.0.0.1:N (a free port otherwise)
  --folder DIR   keep the data in DIR and find it again at the next start (removed at the end otherwise)
`;

const { values } = parseArgs({ options: { port: { type: 'string' }, folder: { type: 'string' }, help: { type: 'boolean' } } });
if (values.help) {
  process.stdout.write(HELP);
} else {
  await run(values);
}

async function run({ port, folder }: { port?: string; folder?: string }): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    process.once('SIGINT', resolve).once('SIGTERM', resolve);
  });
  const abort = new AbortController();
  void stopped.then(() => abort.abort());
  try {
    const kafka = await startKafka({
      ...(port === undefined ? {} : { port: parsePort(port) }),
      ...(folder === undefined ? {} : { folder }),
      signal: abort.signal,
    });
    process.stdout.write(`KAFKA_BROKERS=${kafka.brokers.join(',')}

Kafka is running (data and broker.log in ${kafka.folder}). In another terminal:

  KAFKA_BROKERS=${kafka.brokers.join(',')} npm run up

Ctrl-C stops it${folder === undefined ? ' and removes its data' : ''}.
`);
    await Promise.race([stopped, kafka.ended]);
    if (!abort.signal.aborted) throw new Error(`the broker ended by itself; see ${kafka.folder}/broker.log`);
    await kafka.stop();
  } catch (error) {
    if (abort.signal.aborted) return;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`--port takes a number from 1 to 65535, not ${text}`);
  return port;
}
