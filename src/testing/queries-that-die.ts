import { createServer } from 'node:http';
import { parentPort } from 'node:worker_threads';

/** A thread that answers every request but one, at which it ends as one does that has no memory left. */
const server = createServer((req, res) => (req.url === '/die' ? process.exit(134) : res.end('alive')));
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  parentPort?.postMessage({ kind: 'ready', url: `http://secret@127.0.0.1:${port}` });
});
parentPort?.on('message', () => process.exit());
