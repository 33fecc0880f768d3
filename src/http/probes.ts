import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from '../runtime/metrics.ts';
import { json, type Reply, text } from './reply.ts';

/** The port at which a worker says how it is. */
export interface Probes {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Serves what an orchestrator asks of a worker that serves nothing else: `/healthz` (the process lives), `/readyz` (it can do its work)
 * and `/metrics` (of its process, without a key, and without names of projects, policies and keys). @param ready asked at each probe.
 */
export async function serveProbes(
  { host, port, metrics }: { readonly host: string; readonly port: number; readonly metrics: Metrics },
  ready: () => Promise<Reply>,
): Promise<Probes> {
  const answers: Readonly<Record<string, () => Promise<Reply>>> = {
    '/healthz': async () => json(200, { alive: true }),
    '/readyz': ready,
    '/metrics': async () => {
      const { contentType, body } = await metrics.exposeOpen();
      return text(200, body, contentType);
    },
  };
  const server = createServer((req, res) => {
    const answer = answers[(req.url ?? '').split('?')[0] ?? ''];
    if (!answer || (req.method !== 'GET' && req.method !== 'HEAD')) return void res.writeHead(404).end();
    answer().then(
      ({ status, headers, body }) => res.writeHead(status, headers).end(String(body)), // a text in all of these
      () => res.writeHead(500).end(),
    );
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port, // of a TCP server that listens
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
