import { finished } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';

/** Rows in the text form of COPY. As the only parameter of `copy … from stdin` it is the data that Postgres reads. */
export class CopyText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/**
 * A connection that knows one thing more than pg's: it answers `query('copy … from stdin', [CopyText])`. So COPY goes through the
 * same transaction object as every other statement, where the query builder hands out no connection.
 */
export class CopyingClient extends pg.Client {
  // An overriding property, since the many overloads of `query` cannot be repeated: what is not COPY goes to pg with its
  // arguments as given.
  override query = ((...args: [unknown, unknown?, unknown?]): unknown => {
    const [statement, values] = args;
    if (typeof statement === 'string' && Array.isArray(values) && values[0] instanceof CopyText)
      return this.#copy(statement, values[0]);
    return Reflect.apply(pg.Client.prototype.query, this, args);
  }) as pg.Client['query'];

  async #copy(statement: string, { text }: CopyText): Promise<{ command: 'COPY'; rowCount: number; rows: [] }> {
    // as pg returns it
    const stream = Reflect.apply(pg.Client.prototype.query, this, [copyFrom(statement)]) as ReturnType<typeof copyFrom>;
    stream.end(text);
    await finished(stream);
    return { command: 'COPY', rowCount: stream.rowCount, rows: [] };
  }
}
