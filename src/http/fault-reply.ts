import { ObjectsRefused, ObjectsUnreachable } from '../blobs/object-store.ts';
import { LogError } from '../log/event-log.ts';
import { isDatabaseFault } from '../projections/fault.ts';
import { ProjectionsBehind } from '../projections/wait-until.ts';
import type { Logger } from '../runtime/logger.ts';
import { type Reply, refuse } from './reply.ts';

const DISK = new Set(['EACCES', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'ENOENT', 'ENOSPC', 'ENOTDIR', 'EPERM', 'EROFS']);

/**
 * Answers what a route threw: a fault of the world is 503, worth trying again; anything else is a bug, 500. Logged here, once.
 */
export function faultReply(error: unknown, logger: Logger): Reply {
  const who = faultyPart(error);
  if (who === undefined) {
    logger.error('a request failed by a bug', { error });
    return refuse(500, 'this is a fault of the server; its log says more', 'report it with the time of the request');
  }
  logger.error(`${who} failed a request`, { error });
  return refuse(
    503,
    `${who} does not answer as it should`,
    'try again; GET /v1/health and the log of the server say what is wrong',
    {
      headers: { 'retry-after': '2' },
    },
  );
}

function faultyPart(error: unknown): string | undefined {
  if (error instanceof LogError) return 'the event log';
  if (isDatabaseFault(error)) return 'the database';
  if (error instanceof ProjectionsBehind) return 'the projector';
  if (error instanceof ObjectsUnreachable || error instanceof ObjectsRefused) return 'the store of objects';
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && DISK.has(code) ? 'the disk of the server' : undefined;
}
