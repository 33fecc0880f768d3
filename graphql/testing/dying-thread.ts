import { parentPort } from 'node:worker_threads';
import type { FromThread, ToThread } from '../thread/messages.ts';

/** A thread of queries that answers every request but one, at which it ends as one does that has no memory left. */
parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'close') parentPort?.close();
  if (message.kind !== 'request') return;
  if (message.url.endsWith('/die')) process.exit(134);
  const { id } = message;
  const answer: readonly FromThread[] = [
    { kind: 'head', id, status: 200, headers: {} },
    { kind: 'part', id, bytes: Buffer.from('alive') },
    { kind: 'end', id },
  ];
  for (const part of answer) parentPort?.postMessage(part);
});
