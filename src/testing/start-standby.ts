import { appendFile, chown, cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../postgres/embedded-server.ts';
import { connect } from '../postgres/pool.ts';

/**
 * Starts a standby, in a folder that is not there yet, of the server of another folder, which it follows by streaming replication. The
 * primary has to write its log in full (durability `fsync`).
 */
export async function startStandby(primary: EmbeddedPostgres, folder: string, standby: string): Promise<EmbeddedPostgres> {
  const client = await connect(primary.url);
  const data = join(standby, 'data');
  try {
    await appendFile(join(folder, 'data', 'pg_hba.conf'), 'host replication all 127.0.0.1/32 scram-sha-256\n');
    await client.query('select pg_reload_conf()');
    await client.query(`select pg_backup_start('standby', true)`);
    await cp(join(folder, 'data'), data, { recursive: true, preserveTimestamps: true });
    await writeFile(join(standby, 'password'), await readFile(join(folder, 'password')), { mode: 0o600 });
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    for (const name of ['postmaster.pid', 'postmaster.opts']) await rm(join(data, name), { force: true });
    await writeFile(join(data, 'backup_label'), rows[0]?.labelfile ?? '');
    await writeFile(join(data, 'standby.signal'), '');
    await appendFile(
      join(data, 'postgresql.auto.conf'),
      `primary_conninfo = '${primary.url}?application_name=standby'\nhot_standby_feedback = on\n`,
    );
    const { uid, gid } = await stat(join(folder, 'data')); // of root the server runs under another account
    for (const name of ['', ...(await readdir(data, { recursive: true }))]) await chown(join(data, name), uid, gid);
  } finally {
    await client.end();
  }
  return startEmbeddedPostgres({ folder: standby, durability: 'fsync' });
}
