import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Bucket } from '../runtime/bucket.ts';

export interface SimpleS3Server {
  readonly bucket: Bucket;
  /** What it replies to puts from now on: null, as a store does. */
  refusePuts(reply: { readonly status: number; readonly code: string } | null): void;
  close(): Promise<void>;
}

/** Starts a store of one bucket in this process, for faults that no whole one has. @param condition what it makes of If-None-Match. */
export async function startSimpleS3Server(condition: 'kept' | 'ignored'): Promise<SimpleS3Server> {
  const objects = new Map<string, { readonly bytes: Buffer; readonly putAt: Date }>();
  let refusal: { readonly status: number; readonly code: string } | null = null;
  const server = createServer(async (request, reply) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const body = await buffer(request);
    const fail = (status: number, code: string) => {
      reply.writeHead(status, { 'content-type': 'application/xml' });
      reply.end(request.method === 'HEAD' ? '' : `<Error><Code>${code}</Code><Message>refused</Message></Error>`);
    };
    const stored = objects.get(url.pathname);
    if (request.method === 'PUT') {
      if (refusal !== null) return fail(refusal.status, refusal.code);
      if (stored && condition === 'kept' && request.headers['if-none-match'] === '*') return fail(412, 'PreconditionFailed');
      objects.set(url.pathname, { bytes: body, putAt: new Date() });
      return reply.end();
    }
    if (request.method === 'DELETE') {
      objects.delete(url.pathname);
      return reply.writeHead(204).end();
    }
    if (url.searchParams.has('list-type'))
      return reply.end('<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>');
    if (stored === undefined) return fail(404, 'NoSuchKey');
    reply.writeHead(200, { 'content-length': stored.bytes.byteLength, 'last-modified': stored.putAt.toUTCString() });
    return reply.end(request.method === 'HEAD' ? '' : stored.bytes);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    bucket: {
      bucket: 'simple',
      prefix: '',
      endpoint: `http://127.0.0.1:${port}`,
      region: null,
      pathStyle: true,
      credentials: { accessKeyId: 'id', secretAccessKey: 'secret', sessionToken: null },
      redirects: false,
    },
    refusePuts(reply) {
      refusal = reply;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
