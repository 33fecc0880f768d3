import { finished } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { camelCase } from './camel-case.ts';

/** Rows in the text form of COPY. As the only parameter of `copy … from stdin` it is the data that Postgres reads. */
export class CopyText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A statement whose rows have the names of its columns in camelCase. */
export class CamelCaseQuery {
  readonly text: string;
  readonly values: readonly unknown[];
  constructor(text: string, values: readonly unknown[]) {
    this.text = text;
    this.values = values;
  }
}

/**
 * A connection that knows two things more than pg's. It answers `query('copy … from stdin', [CopyText])`, so that COPY goes
 * through the same transaction object as every other statement, where the query builder hands out no connection. And it answers
 * `query(CamelCaseQuery)`: columns are renamed where the server describes them, once per result, so that rows cost nothing more.
 */
export class CopyingClient extends pg.Client {
  // An overriding property, since the many overloads of `query` cannot be repeated: what is not COPY goes to pg with its
  // arguments as given.
  override query = ((...args: [unknown, unknown?, unknown?]): unknown => {
    const [statement, values] = args;
    if (typeof statement === 'string' && Array.isArray(values) && values[0] instanceof CopyText)
      return this.#copy(statement, values[0]);
    if (statement instanceof CamelCaseQuery) return this.#camelCase(statement);
    return Reflect.apply(pg.Client.prototype.query, this, args);
  }) as pg.Client['query'];

  #camelCase({ text, values }: CamelCaseQuery): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      const query = new Renaming({ text, values: [...values] }, (error, result) =>
        error ? reject(error) : resolve(result as pg.QueryResult),
      );
      Reflect.apply(pg.Client.prototype.query, this, [query]);
    });
  }

  async #copy(statement: string, { text }: CopyText): Promise<{ command: 'COPY'; rowCount: number; rows: [] }> {
    // as pg returns it
    const stream = Reflect.apply(pg.Client.prototype.query, this, [copyFrom(statement)]) as ReturnType<typeof copyFrom>;
    stream.end(text);
    await finished(stream);
    return { command: 'COPY', rowCount: stream.rowCount, rows: [] };
  }
}

/** What pg calls of a query that a client was handed, as its cursors and streams are; the types leave it out. */
interface Described {
  handleRowDescription(message: { readonly fields: { name: string }[] }): void;
}
class Renaming extends (pg.Query as unknown as new (
  config: pg.QueryConfig,
  done: (error: Error | undefined, result: unknown) => void,
) => pg.Query & Described) {
  override handleRowDescription(message: { readonly fields: { name: string }[] }): void {
    for (const field of message.fields) field.name = camelCase(field.name);
    super.handleRowDescription(message);
  }
}
