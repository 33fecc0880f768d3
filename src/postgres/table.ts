import type { Insertable, Selectable } from 'kysely';

/** A column: its type in Postgres, and in TypeScript as the query builder reads and writes it. */
export interface Column<T> {
  readonly type: string;
  readonly hasDefault: boolean;
  /** Never there: it carries the type. */
  readonly of?: T;
}
type Columns = Readonly<Record<string, Column<unknown>>>;

/** A table as its SQL declares it; `npm run codegen:tables` writes those of a folder next to their SQL. */
export interface Table<Of extends Columns = Columns> {
  readonly name: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  readonly columns: Of;
}

const declared = new Map<string, Table>();

export function table<Of extends Columns>(name: string, key: readonly (keyof Of & string)[], columns: Of): Table<Of> {
  const made = { name, key, columns };
  declared.set(name, made);
  return made;
}

/** Returns every table of the modules that this process has loaded, by its name in Postgres. */
export function declaredTables(): ReadonlyMap<string, Table> {
  return declared;
}
export function column<T>(type: string): Column<T> {
  return { type, hasDefault: false };
}
export function defaulted<T>(type: string): Column<T> {
  return { type, hasDefault: true };
}

/** Table → column → type, as kysely takes them. */
export type TypesOf<Tables extends Readonly<Record<string, Table>>> = { [Name in keyof Tables]: TypesIn<Tables[Name]> };
type TypesIn<T extends Table> = {
  [Name in keyof T['columns']]: T['columns'][Name] extends Column<infer Type> ? Type : never;
};

/** A row as bulk writes take it: JSON as a value, instants and bytes as text, or bytes as `WrittenBytes`. */
export type Row<T extends Table> = { readonly [Name in keyof Selectable<TypesIn<T>>]: Written<Selectable<TypesIn<T>>[Name]> };

/** One to be inserted: a column may be left out where it may be null or has a default. */
export type NewRow<T extends Table> = {
  readonly [Name in keyof Insertable<TypesIn<T>>]: Row<T>[Name & keyof Row<T>];
};
type Written<T> = T extends Date
  ? string
  : T extends Buffer
    ? string | WrittenBytes
    : Record<string, unknown> extends T
      ? unknown
      : DeepReadonly<T>;
type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T;

/** Bytes as bulk writes take them: COPY and JSON hold them in hex. */
export class WrittenBytes {
  readonly bytes: Buffer;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  toJSON(): string {
    return `\\x${this.bytes.toString('hex')}`;
  }
}
