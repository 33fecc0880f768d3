import { useSyncExternalStore } from 'react';

const AGAIN_MS = 2_000;
const RELOADED = 'espalier-reloaded';
const ONCE_MS = 60_000;
const listeners = new Set<() => void>();
let waiting = 0;

/** Loads a script of the studio. While the server is away it is waited for: the page that is shown stays. */
export async function loadScript<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch {
    count(1);
    while (!(await isReached())) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    count(-1);
    return load().catch(loadPage); // browsers that keep a failed fetch never ask again
  }
}

/** Returns whether a script waits for the server. */
export function useScriptAwaited(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => waiting > 0,
  );
}

/** Loads the page anew, once in a while: what is shown is named by its address. */
function loadPage(error: unknown): Promise<never> {
  const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
  if (!(error instanceof TypeError) || Date.now() - last < ONCE_MS) throw error;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
  return new Promise(() => undefined);
}

function count(change: number): void {
  waiting += change;
  for (const listener of listeners) listener();
}

async function isReached(): Promise<boolean> {
  return fetch('/healthz').then(
    ({ ok }) => ok,
    () => false,
  );
}
