/**
 * Returns the folder of compiled programs that are up to date with the sources, compiled now where there is none; null where that
 * is impossible.
 */
export function bundleFolder(): Promise<string | null>;
