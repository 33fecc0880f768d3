import type { GraphQLResolveInfo } from 'graphql';
import type { Context } from '../context.ts';

type Path = GraphQLResolveInfo['path'];

/**
 * The moments of the record that one request looks at, by the field `asOf` that opened each. The executor hands one context to every resolver of a
 * request; which moment a field is read at says its path: the nearest `asOf` above it, else it is read now.
 */
export class Moments {
  readonly #contexts = new WeakMap<Path, Context>();
  readonly #releases: (() => void)[] = [];
  #ended = false;

  /** Lets everything below a field be read in another context, until the request ends. */
  open(path: Path, context: Context, release: () => void): void {
    this.#contexts.set(path, context);
    this.#releases.push(release);
    if (this.#ended) this.end();
  }

  /** Gives the context in which a field is resolved. */
  contextOf(path: Path, now: Context): Context {
    if (this.#releases.length === 0) return now;
    for (let at: Path | undefined = path; at; at = at.prev) {
      const context = this.#contexts.get(at);
      if (context) return context;
    }
    return now;
  }

  /** Gives back what the moments hold. */
  end(): void {
    this.#ended = true;
    for (const release of this.#releases) release();
  }
}

/** Resolvers by type and field. Enums, scalars and subscriptions, which are no functions of a parent, stay as they are. */
type Resolvers = Readonly<Record<string, object>>;

/** Lets every resolver run in the context of the moment that its field is read at. */
export function atTheirMoments<R extends Resolvers>(resolvers: R): R {
  const scoped = Object.entries(resolvers).map(([type, fields]) => [type, isFieldMap(fields) ? scopedFields(fields) : fields]);
  return Object.fromEntries(scoped) as R; // the same types and fields, each function with the same signature
}

type Resolve = (parent: unknown, args: unknown, context: Context, info: GraphQLResolveInfo) => unknown;

function scopedFields(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([field, resolve]) => [
      field,
      typeof resolve === 'function' ? scoped(resolve as Resolve) : resolve,
    ]),
  );
}

function scoped(resolve: Resolve): Resolve {
  return (parent, args, context, info) => resolve(parent, args, context.moments.contextOf(info.path, context), info);
}

/** A scalar is an instance of its class; the fields of a type are a plain object. */
function isFieldMap(value: object): boolean {
  return Object.getPrototypeOf(value) === Object.prototype;
}
