/**
 * Lets tasks start on one server at the same time, or one after another. A request that runs alone waits for those under way and
 * holds back the later ones, so that it is never overtaken for ever.
 */
export class StartGate {
  readonly #waiting: { readonly alone: boolean; readonly enter: () => void }[] = [];
  #running = 0;
  #isAlone = false;

  /** Runs a request that starts a task. @throws what the request throws. */
  async pass<T>(mode: 'alone' | 'together', request: () => Promise<T>): Promise<T> {
    await this.#enter(mode === 'alone');
    try {
      return await request();
    } finally {
      this.#running--;
      this.#isAlone = false;
      this.#admit();
    }
  }

  #enter(alone: boolean): Promise<void> {
    return new Promise((enter) => {
      this.#waiting.push({ alone, enter });
      this.#admit();
    });
  }

  #admit(): void {
    for (let [next] = this.#waiting; next && !this.#isAlone; [next] = this.#waiting) {
      if (next.alone && this.#running > 0) return;
      this.#waiting.shift();
      this.#running++;
      this.#isAlone = next.alone;
      next.enter();
    }
  }
}

const gates = new Map<string, StartGate>();

/**
 * Returns the gate of a server, the same one for all that this process opens there: two runs of one process share its random
 * state too.
 */
export function startGateOf(baseUrl: URL): StartGate {
  const known = gates.get(baseUrl.href);
  if (known) return known;
  const gate = new StartGate();
  gates.set(baseUrl.href, gate);
  return gate;
}
