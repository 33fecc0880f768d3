import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type SimpleS3Server, startSimpleS3Server } from '../testing/simple-s3-server.ts';
import type { ObjectStore } from './object-store.ts';
import { openS3Objects } from './s3-objects.ts';

let server: SimpleS3Server;
let objects: ObjectStore;
beforeEach(async () => {
  server = await startSimpleS3Server('kept');
  objects = await openS3Objects(server.bucket);
});
afterEach(async () => {
  objects.close();
  await server.close();
});

test.each([
  ['ObjectsUnreachable', 400, 'RequestTimeout'],
  ['ObjectsUnreachable', 400, 'IncompleteBody'],
  ['ObjectsUnreachable', 503, 'SlowDown'],
  ['ObjectsRefused', 400, 'InvalidRequest'],
  ['ObjectsRefused', 501, 'NotImplemented'],
])('a put is %s by the status %i and the code %s', async (name, status, code) => {
  server.refusePuts({ status, code });
  await expect(objects.put('a/b', Buffer.from('bytes'), 'keep')).rejects.toMatchObject({ name });
});
