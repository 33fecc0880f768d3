import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { LogRecord } from '../../log/event-log.ts';
import { connect } from '../../postgres/pool.ts';
import type { RecordPart } from './record-file.ts';

/** Puts a record back into a database and a folder. @param url an empty database. @param home an empty folder. */
export async function restoreRecord(parts: readonly RecordPart[], url: string, home: string): Promise<void> {
  await restoreFiles(parts, home);
  const client = await connect(url);
  try {
    await client.query("set session_replication_role = 'replica'"); // rows come table by table, whatever refers to what
    for (const part of parts) {
      if (part.kind === 'sql') await client.query(part.text);
      else if (part.kind === 'rows') {
        const columns = part.columns.map((column) => `"${column}"`).join(', ');
        await client.query(`delete from ${part.table}`); // what the statements before put there
        await pipeline(Readable.from([part.copy]), client.query(copyFrom(`copy ${part.table} (${columns}) from stdin`)));
      }
    }
  } finally {
    await client.end();
  }
}

/** Puts the files of a record back: blobs and released files. */
export async function restoreFiles(parts: readonly RecordPart[], home: string): Promise<void> {
  for (const part of parts) {
    if (part.kind !== 'file') continue;
    await mkdir(dirname(join(home, part.path)), { recursive: true });
    await writeFile(join(home, part.path), Buffer.from(part.base64, 'base64'));
  }
}

/** Returns the records of the log that a record holds, partition by partition, in the order of their offsets. */
export function logRecordsOf(parts: readonly RecordPart[]): readonly LogRecord[] {
  const topics = new Map(rowsOf(parts, 'public.log_topics').map((row) => [row.topic_id, row.topic ?? '']));
  const partitions = new Map(rowsOf(parts, 'public.log_partitions').map((row) => [row.partition_id, row]));
  return rowsOf(parts, 'public.log_records').map(({ partition_id, key, value }) => {
    const { topic_id, partition } = partitions.get(partition_id) ?? {};
    const topic = topics.get(topic_id) ?? '';
    return { topic, partition: Number(partition), key: key ?? '', value: Buffer.from(value?.slice('\\\\x'.length) ?? '', 'hex') };
  });
}

/** Reads the rows of a table in the text form of COPY, which no value but bytea is taken out of here. */
export function rowsOf(parts: readonly RecordPart[], table: string): readonly Readonly<Record<string, string>>[] {
  const part = parts.find((candidate) => candidate.kind === 'rows' && candidate.table === table);
  if (part?.kind !== 'rows') throw new Error(`the record has no table ${table}`);
  return linesOf(part.copy).map((line) => {
    const fields = line.split('\t');
    return Object.fromEntries(part.columns.map((column, i) => [column, fields[i] ?? '']));
  });
}

export function linesOf(copy: string): readonly string[] {
  return copy.split('\n').filter((line) => line !== '');
}
