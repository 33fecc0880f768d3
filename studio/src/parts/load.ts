import { useSyncExternalStore } from 'react';

const AGAIN_MS = 2_000;
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
    return load();
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
