const STREAMS = 4; // of the server: each holds a connection to the database and a page of some MB
const OF_A_KEY = 2;

/** Bounds how many tables are read at once. Returns what leaves, or undefined where one more is too many. */
export function boundStreams(most = STREAMS, ofKey = OF_A_KEY): (key: string) => (() => void) | undefined {
  const open = new Map<string, number>();
  let all = 0;
  return (key) => {
    const own = open.get(key) ?? 0;
    if (all >= most || own >= ofKey) return undefined;
    all++;
    open.set(key, own + 1);
    return () => {
      all--;
      const left = (open.get(key) ?? 1) - 1;
      if (left > 0) open.set(key, left);
      else open.delete(key);
    };
  };
}
