const SIZES = [1, 4, 16, 64, 256].map((thousands) => thousands * 1_024); // characters: each the one before, doubled twice
const GROWTH = 10; // of four times the text: linear work takes 4 times as long, more where it leaves a cache, quadratic work 16 times

/** How far texts grow, in characters, and how long the work on one may take before it is compared with a shorter one, in ms. */
export interface Growing {
  readonly longest: number;
  readonly quickMs: number;
}

/**
 * Doubles a text again and again until the work on it can be measured, and returns what is wrong when the work grows faster than
 * the text: undefined when it does not. Measured is the time of the processor, so that other processes do not count, and of two
 * sizes the least of several tries, so that a collection of garbage does not. @param make makes a text of about so many
 * characters.
 */
export function findGrowth(
  read: (text: string) => unknown,
  make: (characters: number) => string,
  { longest, quickMs }: Growing,
): string | undefined {
  read(make(100)); // compiles what is compiled at the first use
  for (const size of SIZES.filter((each) => each <= longest)) {
    if (leastMs(read, make(size), 1) <= quickMs) continue;
    let [shorter, ms] = [0, 0];
    // A compiler or a collector at work in between is seen once; what grows too fast is seen each time.
    const isSteep = Array.from({ length: ROUNDS }).every(() => {
      shorter = leastMs(read, make(size / 4), TRIES);
      ms = leastMs(read, make(size), TRIES);
      return ms > quickMs && ms > shorter * GROWTH;
    });
    if (isSteep) return `${size / 4} characters take ${shorter.toFixed(1)} ms, ${size} take ${ms.toFixed(1)}`;
    if (ms > 2 * quickMs) return undefined; // slow, in proportion
  }
  return undefined;
}
const TRIES = 3;
const ROUNDS = 3;

function leastMs(read: (text: string) => unknown, text: string, tries: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < tries; i++) {
    const from = process.cpuUsage();
    read(text);
    const { user, system } = process.cpuUsage(from);
    least = Math.min(least, (user + system) / 1_000);
  }
  return least;
}

/** Makes texts of a piece again and again, between a beginning and an end that no piece has. */
export function repeated(piece: string, beginning = '', end = '\u0001'): (characters: number) => string {
  return (characters) => `${beginning}${piece.repeat(Math.ceil(characters / piece.length))}${end}`;
}
