import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openTestApi, type TestApi } from '../http-testing.ts';
import type { HttpServer } from '../server.ts';
import { openStudio } from './open-studio.ts';

const SCRIPT = 'console.log("a script of the studio")';
let api: TestApi;
let server: HttpServer;
let built: string;
beforeAll(async () => {
  built = await mkdtemp(join(tmpdir(), 'espalier-studio-'));
  await mkdir(join(built, 'one', 'assets'), { recursive: true });
  await writeFile(join(built, 'one', 'index.html'), '<!doctype html><script src="/assets/index-1.js"></script>');
  await writeFile(join(built, 'one', 'assets', 'index-1.js'), SCRIPT);
  await writeFile(join(built, 'one', 'assets', 'index-1.js.gz'), gzipSync(SCRIPT));
  await writeFile(join(built, 'one', 'frame.html'), '<!doctype html><script>1</script>');
  await writeFile(join(built, 'current'), 'one\n');
  api = await openTestApi();
  const studio = openStudio(built);
  server = await api.serve({ token: async () => 'somebody', ...(studio ? { api: { studio } } : {}) });
});
afterAll(async () => {
  await api.close();
  await rm(built, { recursive: true });
});

const get = (path: string, headers: Record<string, string> = {}) => fetch(`${server.url}${path}`, { headers });

describe('the pages of the studio', () => {
  test.each(['/', '/view/training', '/view/run/0190a1b2-0000-7000-8000-000000000000?at=runs.0:3', '/view/policy/a%2Fb'])(
    '%s is the page, for whoever asks, and holds nothing of the record',
    async (path) => {
      const answer = await get(path);
      expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
        ...[200, 'text/html; charset=utf-8', expect.stringContaining('index-1.js')],
      ]);
      expect(answer.headers.get('content-security-policy')).toMatch(
        /script-src 'self';.*connect-src 'self'.*frame-ancestors 'none'/,
      );
      expect(answer.headers.get('cache-control')).toBe('no-cache');
    },
  );

  test('the frame of views runs its own script alone, loads nothing and has an origin of its own', async () => {
    const answer = await get('/frame.html');
    expect([answer.status, answer.headers.get('x-frame-options'), await answer.text()]).toEqual([
      ...[200, 'SAMEORIGIN', '<!doctype html><script>1</script>'],
    ]);
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'sha256-a4ayc/80/OGda4BO/1o/V0etpOqiLx1JwB5S3beHW0s='; worker-src data:; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts",
    );
  });

  test('a file of a page may be kept for ever and comes compressed where the browser takes that', async () => {
    const answer = await get('/assets/index-1.js', { 'accept-encoding': 'gzip, deflate' });
    expect([answer.status, answer.headers.get('content-encoding'), await answer.text()]).toEqual([200, 'gzip', SCRIPT]);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const plain = await get('/assets/index-1.js', { 'accept-encoding': 'identity' });
    expect([plain.headers.get('content-encoding'), await plain.text()]).toEqual([null, SCRIPT]);
  });

  test.each(['/assets/index-2.js', '/assets/index-1.js.gz', '/assets/..%2Findex.html', '/assets/index.html'])(
    '%s is no file of a page',
    async (path) => {
      expect((await get(path, { authorization: 'Bearer somebody' })).status).toBe(404);
    },
  );

  test('what a page asks for needs the token or a key', async () => {
    expect((await get('/graphql?query={__typename}')).status).toBe(401);
    expect((await get('/endpoints')).status).toBe(401);
  });

  test('a server without a studio lists its endpoints', async () => {
    expect(openStudio(join(built, 'absent'))).toBeUndefined();
    expect(await (await fetch(`${api.server.url}/`)).text()).toContain('/v1/events');
  });
});
