import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type pg from 'pg';
import { CamelCaseQuery, CopyBinary, CopyText } from './copying-client.ts';
import { meterOf, type StatementMeter } from './statement-meter.ts';

const QUERY_CANCELED = '57014';
const COUNTED = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/**
 * A connection of a pool as kysely uses it. A metered statement runs in a read-only transaction whose `statement_timeout` is set
 * by `set local`: a pooler that lends a session for one transaction passes it on, and it ends with the transaction.
 */
export class MeteredConnection implements DatabaseConnection {
  readonly #client: pg.PoolClient;
  #transaction: 'none' | 'open' | 'limited' = 'none';
  #ended = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  async executeQuery<Row>({ sql, parameters, queryId }: CompiledQuery): Promise<QueryResult<Row>> {
    const meter = meterOf(queryId);
    try {
      return meter ? await this.#metered<Row>(sql, parameters, meter) : await this.#send<Row>(sql, parameters);
    } catch (error) {
      this.#ended ||= endsSession(error);
      throw withCallers(error);
    }
  }

  /** No statement is streamed: rows are read in pages by key. */
  // biome-ignore lint/correctness/useYield: it refuses
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('streamed statements are not supported; read in pages');
  }

  /** Opens or ends a transaction. */
  async control(command: string, after: 'none' | 'open'): Promise<void> {
    await this.#client.query(command);
    this.#transaction = after;
  }

  /** Returns the connection to its pool. One whose session the server has ended is dropped: its socket closes a moment later. */
  release(): void {
    this.#client.release(this.#ended);
  }

  async #metered<Row>(sql: string, parameters: readonly unknown[], meter: StatementMeter): Promise<QueryResult<Row>> {
    const limit = `set local statement_timeout = ${Math.ceil(meter.statementMs)}`;
    const alone = this.#transaction === 'none';
    try {
      if (alone) await this.#client.query(`begin read only; ${limit}`);
      else if (this.#transaction === 'open') {
        await this.#client.query(limit);
        this.#transaction = 'limited';
      }
      const result = await this.#send<Row>(sql, parameters, meter);
      if (alone) await this.#client.query('commit');
      return result;
    } catch (error) {
      if (alone) await this.#client.query('rollback').catch(() => undefined); // the connection may be gone
      throw codeOf(error) === QUERY_CANCELED ? meter.late() : error;
    }
  }

  async #send<Row>(text: string, values: readonly unknown[], meter?: StatementMeter): Promise<QueryResult<Row>> {
    const [data] = values;
    const answer = (await (data instanceof CopyText || data instanceof CopyBinary
      ? this.#client.query(text, [meter && data instanceof CopyBinary ? charged(data, meter) : data])
      : this.#client.query(new CamelCaseQuery(text, values, meter) as unknown as string))) as unknown as pg.QueryResult; // known to `CopyingClient`, of which pools are
    const { command, rowCount, rows } = answer;
    // a column is as its statement declares it
    return { rows: rows as Row[], ...(COUNTED.has(command) ? { numAffectedRows: BigInt(rowCount ?? 0) } : {}) };
  }
}

function charged({ take }: CopyBinary, meter: StatementMeter): CopyBinary {
  const charge = (row: Buffer): void => {
    meter.row(row.length);
    take(row);
  };
  return new CopyBinary(charge, true);
}

/** An error of the driver is made in its socket's handler; its stack alone says nothing of who sent the statement. */
function withCallers(error: unknown): unknown {
  if (error instanceof Error && error.stack !== undefined)
    error.stack += `\n${(new Error().stack ?? '').split('\n').slice(1).join('\n')}`;
  return error;
}

/** Returns whether the server ends the session with this error, as where it is shut down or an administrator ends it. */
function endsSession(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && (error.severity === 'FATAL' || error.severity === 'PANIC');
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
