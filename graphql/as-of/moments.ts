import type { GraphQLResolveInfo } from 'graphql';

type Path = GraphQLResolveInfo['path'];

/**
 * The moments of the record that one request looks at, by the field `asOf` that opened each. The executor hands one context to
 * every resolver of a request; which moment a field is read at says the name that its path begins with: `asOf` is a field of Query.
 */
export class Moments<Context> {
  readonly #contexts = new Map<Path['key'], Context>();
  readonly #releases: (() => void)[] = [];
  #ended = false;

  /** Lets everything below a field be read in another context, until the request ends. */
  open(path: Path, context: Context, release: () => void): void {
    this.#contexts.set(rootOf(path), context);
    this.#releases.push(release);
    if (this.#ended) this.end();
  }

  /** Returns the context in which a field is resolved. */
  contextOf(path: Path, now: Context): Context {
    if (this.#releases.length === 0) return now;
    return this.#contexts.get(rootOf(path)) ?? now;
  }

  /** Releases what the moments hold. */
  end(): void {
    this.#ended = true;
    for (const release of this.#releases) release();
  }
}

/** The name in the answer of the field of Query that a path begins with. */
function rootOf({ key, prev }: Path): Path['key'] {
  return prev ? rootOf(prev) : key;
}
