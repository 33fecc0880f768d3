import { execFile } from 'node:child_process';
import { chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '../testing/until.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded-server.ts';
import { connect, openPool } from './pool.ts';

const openssl = promisify(execFile);
let folder: string;
let server: EmbeddedPostgres;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'espalier-tls-'));
  server = await startEmbeddedPostgres({ folder, durability: 'none' });
  const data = join(folder, 'data');
  for (const [name, subject] of [
    ['server', '/CN=elsewhere'],
    ['other', '/CN=other'],
  ] as const)
    await openssl(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '2',
        '-subj',
        subject,
        '-keyout',
        `${name}.key`,
        '-out',
        `${name}.crt`,
      ],
      { cwd: data },
    );
  const { uid, gid } = await stat(data);
  for (const name of ['server.key', 'server.crt']) await chown(join(data, name), uid, gid);
  await chmod(join(data, 'server.key'), 0o600);
  const client = await connect(server.url);
  await client.query('alter system set ssl = on');
  await client.query('select pg_reload_conf()');
  await client.end();
  await until(async () => (await usesTls('sslmode=require').catch(() => false)) === true); // once the postmaster has read it
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

async function usesTls(search: string): Promise<boolean | undefined> {
  const pool = openPool(`${server.url}?${search}`, { max: 1 });
  try {
    const { rows } = await pool.query<{ ssl: boolean }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()');
    return rows[0]?.ssl;
  } finally {
    await pool.end();
  }
}
const certificate = (name: string) => encodeURIComponent(join(folder, 'data', `${name}.crt`));

test('sslmode means what it means for libpq: require checks no certificate, verify-ca its authority, verify-full its name too', async () => {
  expect(await usesTls('sslmode=disable')).toBe(false);
  expect(await usesTls('sslmode=require')).toBe(true);
  expect(await usesTls('sslmode=prefer')).toBe(true);
  expect(await usesTls('sslmode=no-verify')).toBe(true); // pg's own
  expect(await usesTls(`sslmode=verify-ca&sslrootcert=${certificate('server')}`)).toBe(true);
  await expect(usesTls(`sslmode=verify-ca&sslrootcert=${certificate('other')}`)).rejects.toThrow(/certificate/);
  await expect(usesTls(`sslmode=verify-full&sslrootcert=${certificate('server')}`)).rejects.toThrow(/altnames|does not match/);
});
