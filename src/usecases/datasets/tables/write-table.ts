import type { BlobStore } from '../../../blobs/blob-store.ts';
import { formatPosition } from '../../../log/position.ts';
import type { Db, Trx } from '../../../postgres/database.ts';
import { readTablePosition } from '../../../projections/tables/read-position.ts';
import { AtomicFile, type Existing } from '../export/atomic-file.ts';
import { streamTable, type TableAsked } from './stream-table.ts';

export interface WrittenTable {
  readonly bytes: number;
  readonly sha256: string;
  /** Everything below it is in the file. */
  readonly position: string;
}

const IDLE_MS = 600_000; // a disk that is slow to sync

/** Writes a table of one snapshot as a file of an Arrow IPC stream. @throws DatasetError. */
export async function writeTable(
  { db, blobs }: { readonly db: Db; readonly blobs: Pick<BlobStore, 'get'> },
  asked: TableAsked,
  { out, existing }: { readonly out: string; readonly existing: Existing },
): Promise<WrittenTable> {
  const file = await AtomicFile.open(out, existing);
  try {
    const transaction = db.transaction().setIsolationLevel('repeatable read').setAccessMode('read only');
    const position = await transaction.execute((trx) => write(trx, file));
    const sealed = await file.seal();
    await file.publish();
    return { ...sealed, position };
  } catch (error) {
    await file.discard();
    throw error;
  }

  async function write(trx: Trx, to: AtomicFile): Promise<string> {
    const position = formatPosition(await readTablePosition(trx, asked.table, IDLE_MS));
    for await (const bytes of streamTable({ db: trx, keys: trx, blobs, unreadable: 'throw' }, asked, position))
      await to.write(bytes);
    return position;
  }
}
