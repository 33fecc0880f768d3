/** The weights with which input positions make each output position, as 22-bit fixed-point numbers. */
export interface Weights {
  /** Per output: first input and count. */
  readonly from: Int32Array;
  readonly count: Int32Array;
  /** `most` per output. */
  readonly values: Int32Array;
  readonly most: number;
}

const BITS = 22;
/** Heights are whole lines and factors few, so sizes come again: these are of about 300 images of 1,000 rows. */
const MOST_KEPT = 16 << 20;

const kept = new Map<number, Weights>();
let keptBytes = 0;

/** Computes the weights of one axis. Those that were used last are kept. */
export function weigh(input: number, output: number): Weights {
  const key = input * 65_536 * 4 + output;
  const known = kept.get(key);
  const weights = known ?? computeWeights(input, output);
  if (known) kept.delete(key);
  else keptBytes += bytesOf(weights);
  kept.set(key, weights); // behind all others
  for (const [oldest, old] of kept) {
    if (keptBytes <= MOST_KEPT || old === weights) break;
    kept.delete(oldest);
    keptBytes -= bytesOf(old);
  }
  return weights;
}

/** What is packed of them (`pack-weights.ts`) is about as large. */
function bytesOf({ from, values }: Weights): number {
  return (from.byteLength + values.byteLength) * 2;
}

function computeWeights(input: number, output: number): Weights {
  const scale = input / output;
  const filterScale = Math.max(scale, 1);
  const support = 3 * filterScale;
  const inverse = 1 / filterScale;
  const most = Math.ceil(support) * 2 + 1;
  const [from, count, values] = [new Int32Array(output), new Int32Array(output), new Int32Array(output * most)];
  const exact = new Float64Array(most);
  for (let i = 0; i < output; i++) {
    const centre = (i + 0.5) * scale;
    const first = Math.max(0, Math.trunc(centre - support + 0.5));
    const n = Math.min(input, Math.trunc(centre + support + 0.5)) - first;
    let sum = 0;
    for (let k = 0; k < n; k++) {
      const weight = lanczos3((k + first - centre + 0.5) * inverse);
      exact[k] = weight;
      sum += weight;
    }
    for (let k = 0; k < n; k++) {
      const share = ((exact[k] ?? 0) / sum) * (1 << BITS);
      values[i * most + k] = Math.trunc(share < 0 ? share - 0.5 : share + 0.5);
    }
    from[i] = first;
    count[i] = n;
  }
  return { from, count, values, most };
}

function lanczos3(x: number): number {
  return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
}

function sinc(x: number): number {
  if (x === 0) return 1;
  const t = x * Math.PI;
  return Math.sin(t) / t;
}
