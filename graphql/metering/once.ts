/** Returns a function that ends something the first time, and does nothing again. */
export function once(end: () => void): () => void {
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    end();
  };
}
