import type { IncomingMessage } from 'node:http';

/** Runs work for a request with a signal that is aborted when the client goes away. */
export async function whileConnected<T>({ socket }: IncomingMessage, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const gone = new AbortController();
  const onClose = () => gone.abort();
  if (socket.destroyed) gone.abort();
  socket.once('close', onClose);
  try {
    return await work(gone.signal);
  } finally {
    socket.off('close', onClose); // one connection brings many requests
  }
}
