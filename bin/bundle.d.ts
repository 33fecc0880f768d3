/**
 * Returns the folder of compiled programs that are up to date with the sources, compiled now where there is none; null where that
 * is impossible.
 */
export function bundleFolder(): Promise<string | null>;

/** Compiles the command line and the workers into a folder; `libraries` are options of esbuild that say where libraries come from. */
export function compile(
  target: string,
  libraries: import('esbuild').BuildOptions,
): Promise<{ readonly metafile: import('esbuild').Metafile; readonly seen: ReadonlyMap<string, readonly [number, number]> }>;
