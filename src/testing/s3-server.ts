import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, utimes } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import type { Bucket } from '../runtime/bucket.ts';
import { freePort } from '../runtime/free-port.ts';
import { until } from './until.ts';

const VERSION = '1.8.0';
const BUILD_MS = 1_500_000;
const REGION = 'us-east-1';
export const ACCESS_KEY = 'espalier-tests';
export const SECRET_KEY = 'espalier-tests-secret';

/** A real S3 server with buckets in a temporary folder. */
export interface S3Server {
  readonly endpoint: string;
  /** Makes a bucket. @returns what a process needs to use it, as settings and as its configuration. */
  makeBucket(name: string): Promise<{ readonly bucket: Bucket; readonly env: Readonly<Record<string, string>> }>;
  /** Lets an object look as if it had been put before. The protocol has no way to do that. */
  setTime(bucket: string, key: string, ms: number): Promise<void>;
  /** Kills the server; its connections break, and new ones are refused. */
  stop(): Promise<void>;
  /** Starts it again at the same address. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts versitygw, which is built on the first use and kept in the cache folder under its version. @throws Error when there is
 * neither a build of it nor Go.
 */
export async function startS3Server(): Promise<S3Server> {
  const program = await buildGateway();
  const folder = await mkdtemp(join(tmpdir(), 'espalier-s3-'));
  const [data, sidecar] = [join(folder, 'data'), join(folder, 'attributes')];
  for (const each of [data, sidecar]) await mkdir(each);
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  let running: { readonly child: ChildProcess; readonly ended: Promise<void> } | undefined;

  async function start(): Promise<void> {
    const child = spawn(
      program,
      ['--port', `127.0.0.1:${port}`, '--health', '/health', '--quiet', 'posix', '--sidecar', sidecar, data],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ROOT_ACCESS_KEY: ACCESS_KEY, ROOT_SECRET_KEY: SECRET_KEY, VGW_REGION: REGION },
      },
    );
    let [said, over] = ['', false];
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-4_000);
      });
    const ended = new Promise<void>((resolve) =>
      child.once('close', () => {
        over = true;
        resolve();
      }),
    );
    running = { child, ended };
    await until(async () => {
      if (over) throw new Error(`versitygw ended: ${said}`);
      return fetch(`${endpoint}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
  }
  async function stop(): Promise<void> {
    running?.child.kill('SIGKILL');
    await running?.ended;
    running = undefined;
  }

  await start();
  return {
    endpoint,
    async makeBucket(name) {
      const credentials = { accessKeyId: ACCESS_KEY, secretAccessKey: SECRET_KEY };
      const client = new S3Client({ endpoint, region: REGION, forcePathStyle: true, credentials });
      await client.send(new CreateBucketCommand({ Bucket: name }));
      client.destroy();
      return {
        bucket: {
          ...{ bucket: name, prefix: 'lab', endpoint, region: null, pathStyle: true, redirects: false },
          credentials: { ...credentials, sessionToken: null },
        },
        env: {
          ESPALIER_OBJECTS: `s3://${name}/lab`,
          AWS_ENDPOINT_URL_S3: endpoint,
          AWS_ACCESS_KEY_ID: ACCESS_KEY,
          AWS_SECRET_ACCESS_KEY: SECRET_KEY,
        },
      };
    },
    setTime: (bucket, key, ms) => utimes(join(data, bucket, key), ms / 1_000, ms / 1_000),
    start,
    stop,
    async close() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function buildGateway(): Promise<string> {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'espalier', `versitygw-${VERSION}`);
  const program = join(folder, 'versitygw');
  if (existsSync(program)) return program;
  const env = { ...process.env, GOBIN: folder, GOTOOLCHAIN: 'auto' };
  const module = `github.com/versity/versitygw/cmd/versitygw@v${VERSION}`;
  await promisify(execFile)('go', ['install', module], { env, timeout: BUILD_MS, maxBuffer: 1 << 24 }).catch((cause: Error) => {
    throw new Error(`versitygw cannot be built: ${cause.message}; install Go (golang-go in Debian)`, { cause });
  });
  return program;
}
