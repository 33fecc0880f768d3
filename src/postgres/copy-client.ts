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

/** What takes the rows of a query that is sent as `copy (…) to stdout (format binary)`: its only parameter. */
export class CopyBinary {
  /** Called with each row as Postgres sends it; the bytes are others as soon as it returns. */
  readonly take: (row: Buffer) => void;
  constructor(take: (row: Buffer) => void) {
    this.take = take;
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
 * A connection that knows three things more than pg's. It answers `query('copy … from stdin', [CopyText])` and `query('select …',
 * [CopyBinary])`, so that COPY goes through the same transaction object as every other statement, where the query builder hands
 * out no connection. And it answers `query(CamelCaseQuery)`: columns are renamed where the server describes them, once per
 * result, so that rows cost nothing more.
 */
export class CopyingClient extends pg.Client {
  // An overriding property, since the many overloads of `query` cannot be repeated: what is not COPY goes to pg with its
  // arguments as given.
  override query = ((...args: [unknown, unknown?, unknown?]): unknown => {
    const [statement, values] = args;
    if (typeof statement === 'string' && Array.isArray(values) && values[0] instanceof CopyText)
      return this.#copy(statement, values[0]);
    if (typeof statement === 'string' && Array.isArray(values) && values[0] instanceof CopyBinary)
      return this.#copyBinary(statement, values[0]);
    if (statement instanceof CamelCaseQuery) return this.#camelCase(statement);
    return Reflect.apply(pg.Client.prototype.query, this, args);
  }) as pg.Client['query'];

  #camelCase({ text, values }: CamelCaseQuery): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      const done = (error: Error | undefined, result: unknown) => (error ? reject(error) : resolve(result as pg.QueryResult));
      Reflect.apply(pg.Client.prototype.query, this, [new Renaming({ text, values: [...values] }, done)]);
    });
  }

  #copyBinary(statement: string, { take }: CopyBinary): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      const done = (error: unknown, result: unknown) => (error ? reject(error) : resolve(result as pg.QueryResult));
      const text = `copy (${statement}) to stdout (format binary)`;
      Reflect.apply(pg.Client.prototype.query, this, [new Copying({ text }, done, take)]);
    });
  }

  #copy(statement: string, { text }: CopyText): Promise<Pick<pg.QueryResult, 'command' | 'rowCount' | 'rows'>> {
    return new Promise((resolve, reject) => {
      const copy = copyFrom(statement);
      copy.on('error', reject); // a refusal in the middle of the rows is followed by an error of the stream that wrote them
      copy.once('finish', () => resolve({ command: 'COPY', rowCount: copy.rowCount, rows: [] }));
      Reflect.apply(pg.Client.prototype.query, this, [copy]);
      copy.end(text);
    });
  }
}

/** What pg calls of a query that a client was handed, as its cursors and streams are; the types leave it out. */
interface Described {
  handleRowDescription(message: { readonly fields: { name: string }[] }): void;
}
type Done = (error: Error | undefined, result: unknown) => void;

class Renaming extends (pg.Query as unknown as new (config: object, done: Done) => Described) {
  override handleRowDescription(message: { readonly fields: { name: string }[] }): void {
    for (const field of message.fields) field.name = camelCase(field.name);
    super.handleRowDescription(message);
  }
}

/**
 * COPY in its binary form: Postgres sends each row as a message of its own, which pg hands over as it lies in its buffer. Once a
 * row is refused, the others are read and dropped.
 */
class Copying extends (pg.Query as unknown as new (config: pg.QueryConfig, done: CopyDone) => Described) {
  readonly #take: (row: Buffer) => void;
  readonly #refused: { error: unknown };
  constructor(config: pg.QueryConfig, done: CopyDone, take: (row: Buffer) => void) {
    const refused: { error: unknown } = { error: undefined };
    super(config, (error, result) => done(refused.error ?? error, result));
    this.#take = take;
    this.#refused = refused;
  }
  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    if (this.#refused.error !== undefined) return;
    try {
      this.#take(chunk);
    } catch (error) {
      this.#refused.error = error;
    }
  }
}
type CopyDone = (error: unknown, result: unknown) => void;
