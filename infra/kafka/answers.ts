import { connect } from 'node:net';

/**
 * Tells whether the broker answers and counts itself as alive. Asks for the cluster's metadata (version 1, no topics) by hand:
 * a TCP connection alone is accepted long before the broker serves, and this folder needs no client library.
 */
export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const chunks: Buffer[] = [];
    const end = (alive: boolean): void => {
      socket.destroy();
      resolve(alive);
    };
    socket.setTimeout(2_000, () => end(false));
    socket.on('error', () => end(false));
    socket.on('close', () => resolve(false));
    socket.on('connect', () => socket.write(metadataRequest()));
    socket.on('data', (chunk) => {
      chunks.push(chunk);
      const answer = Buffer.concat(chunks);
      // size (4), correlation id (4), number of brokers (4)
      if (answer.length >= 12) end(answer.readInt32BE(8) > 0);
    });
  });
}

function metadataRequest(): Buffer {
  const request = Buffer.alloc(18);
  request.writeInt32BE(14, 0); // bytes that follow
  request.writeInt16BE(3, 4); // Metadata
  request.writeInt16BE(1, 6); // version
  request.writeInt32BE(1, 8); // correlation id
  request.writeInt16BE(-1, 12); // no client id
  request.writeInt32BE(0, 14); // no topics
  return request;
}
