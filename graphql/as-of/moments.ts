import type { GraphQLResolveInfo } from 'graphql';

type Path = GraphQLResolveInfo['path'];

/**
 * The moments of the record that one request looks at, by the field `asOf` that opened each. The executor hands one context to
 * every resolver of a request; which moment a field is read at says its path: the nearest `asOf` above it, else it is read now.
 */
export class Moments<Context> {
  readonly #contexts = new WeakMap<Path, Context>();
  readonly #releases: (() => void)[] = [];
  #ended = false;

  /** Lets everything below a field be read in another context, until the request ends. */
  open(path: Path, context: Context, release: () => void): void {
    this.#contexts.set(path, context);
    this.#releases.push(release);
    if (this.#ended) this.end();
  }

  /** Returns the context in which a field is resolved. */
  contextOf(path: Path, now: Context): Context {
    if (this.#releases.length === 0) return now;
    for (let at: Path | undefined = path; at; at = at.prev) {
      const context = this.#contexts.get(at);
      if (context) return context;
    }
    return now;
  }

  /** Releases what the moments hold. */
  end(): void {
    this.#ended = true;
    for (const release of this.#releases) release();
  }
}
