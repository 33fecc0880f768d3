import { connect } from 'node:net';

/**
 * Returns whether a broker of this cluster (of any, when none is named) answers there and counts itself as alive. Asks for the
 * cluster's metadata (version 2, no topics) by hand: a TCP connection alone is accepted long before the broker serves, and
 * another broker may hold the port.
 */
export function answers(port: number, clusterId = ''): Promise<boolean> {
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
      if (answer.length < 4 || answer.length < 4 + answer.readInt32BE(0)) return;
      // size (4), correlation id (4), number of brokers (4), the brokers, and behind them the cluster's id as text
      end(answer.length >= 12 && answer.readInt32BE(8) > 0 && answer.includes(clusterId));
    });
  });
}

function metadataRequest(): Buffer {
  const request = Buffer.alloc(18);
  request.writeInt32BE(14, 0); // bytes that follow
  request.writeInt16BE(3, 4); // Metadata
  request.writeInt16BE(2, 6); // version
  request.writeInt32BE(1, 8); // correlation id
  request.writeInt16BE(-1, 12); // no client id
  request.writeInt32BE(0, 14); // no topics
  return request;
}
