import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type S3Server, startS3Server } from '../testing/s3-server.ts';
import { openBlobStore } from './blob-store.ts';
import { type ObjectStore, ObjectsRefused, ObjectsUnreachable } from './object-store.ts';
import { objectsContract } from './objects.contract.ts';
import { openS3Objects } from './s3-objects.ts';

const HELLO = Buffer.from('hello');
const HOUR = 3_600_000;
let server: S3Server;
let files: string;
beforeAll(async () => {
  server = await startS3Server();
  files = await mkdtemp(join(tmpdir(), 'espalier-files-'));
}, 1_600_000);
afterAll(async () => {
  await server?.close();
  await rm(files, { recursive: true, force: true });
});
let made = 0;
let world: Awaited<ReturnType<S3Server['makeBucket']>>;
let objects: ObjectStore;
beforeEach(async () => {
  world = await server.makeBucket(`bucket-${++made}`);
  objects = await openS3Objects(world.bucket);
});
afterEach(() => objects.close());
const age = (name: string) => server.setTime(world.bucket.bucket, `lab/${name}`, Date.now() - 2 * HOUR);

describe('a bucket', () => {
  objectsContract(() => ({ objects, files, age }));

  test('a lock that a killed removal left is taken over when no request of it can still arrive', async () => {
    await objects.put('old/one', HELLO, 'keep');
    await age('old/one');
    await objects.put('removing/old/one', new Uint8Array(), 'keep');
    expect(await objects.remove('old/one', HOUR)).toBe(false);
    await age('removing/old/one');
    expect([await objects.remove('old/one', HOUR), await objects.stat('old/one')]).toEqual([true, undefined]);
    expect(await objects.stat('removing/old/one')).toBeUndefined();
  });

  test('a signed address is read by any client until it expires', async () => {
    await objects.put('exports/one', HELLO, 'keep');
    const address = await objects.addressOf('exports/one', 60_000);
    const reply = await fetch(address ?? '', { headers: { range: 'bytes=1-' } });
    expect([reply.status, await reply.text()]).toEqual([206, 'ello']);
    expect((await fetch(String(address).replace(/X-Amz-Expires=\d+/, 'X-Amz-Expires=90000'))).status).toBe(403);
  });

  test('an upload that was killed is counted and ended when it is old', async () => {
    const { S3Client, CreateMultipartUploadCommand } = await import('@aws-sdk/client-s3');
    const { endpoint, credentials, bucket } = world.bucket;
    const client = new S3Client({
      endpoint: endpoint ?? '',
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: credentials as never,
    });
    await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: `lab/aa/bb/${'c'.repeat(64)}` }));
    client.destroy();
    expect(await objects.sweep(HOUR, 'delete')).toEqual({ files: 0, bytes: 0 });
    expect(await objects.sweep(0, 'delete')).toEqual({ files: 1, bytes: 0 });
    expect(await objects.sweep(0, 'count')).toEqual({ files: 0, bytes: 0 });
  });

  test('other programs read the objects as what they are', async () => {
    const { blob } = await openBlobStore(objects).put(HELLO, 'text/plain');
    const script = `import boto3, sys
bucket = boto3.client("s3", endpoint_url=sys.argv[1], region_name="us-east-1")
print(bucket.get_object(Bucket=sys.argv[2], Key=sys.argv[3])["Body"].read().decode())`;
    const key = `lab/2c/f2/${blob}`;
    const { stdout } = await promisify(execFile)(
      process.env.ESPALIER_BOTO_PYTHON ?? 'python3',
      ['-c', script, server.endpoint, world.bucket.bucket, key],
      {
        env: { ...process.env, ...world.env },
      },
    );
    expect(stdout.trim()).toBe('hello');
  });
});

describe('a bucket that cannot be used', () => {
  test.each([
    ['bucket', { bucket: 'none-of-that-name' }, /the bucket none-of-that-name at .*; create it, or correct ESPALIER_OBJECTS$/],
    [
      'key',
      { credentials: { accessKeyId: 'stranger', secretAccessKey: 'hidden-one', sessionToken: null } },
      /; correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
    ],
    [
      'secret',
      { credentials: { accessKeyId: 'espalier-tests', secretAccessKey: 'hidden-one', sessionToken: null } },
      /; correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
    ],
    ['region', { region: 'eu-north-7' }, /; set AWS_REGION to the region of the bucket$/],
  ])('a wrong %s is named with its remedy, and no secret', async (_what, wrong, message) => {
    const other = await openS3Objects({ ...world.bucket, ...wrong });
    const fault = await other.check().catch((error: unknown) => error);
    other.close();
    expect(fault).toBeInstanceOf(ObjectsRefused);
    expect((fault as Error).message).toMatch(message);
    expect((fault as Error).message).not.toContain('hidden-one');
  });

  test('a server that is away is an outage, and over when it is back', async () => {
    await objects.put('some/thing', HELLO, 'keep');
    await server.stop();
    for (const work of [
      objects.check(),
      objects.get('some/thing'),
      objects.put('other/thing', HELLO, 'keep'),
      objects.remove('some/thing', 0),
    ])
      await expect(work).rejects.toBeInstanceOf(ObjectsUnreachable);
    await server.start();
    expect(Buffer.from((await objects.get('some/thing')) ?? []).toString()).toBe('hello');
  });
});
