/** A part of a flow. */
export interface Branch {
  readonly name: string;
  readonly samples: number;
  readonly kind: 'good' | 'bad' | 'busy' | 'open';
  readonly reason?: string;
}

/** A part as it is drawn: an area from the left edge to its row at the right. */
export interface Ribbon {
  readonly branch: Branch;
  /** The height of its row, in pixels. */
  readonly row: number;
  /** In a box 100 wide. */
  readonly path: string;
}

const HEIGHT = 120; // pixels of all samples at the left
const ROW = 26; // pixels that a line of text needs
const THIN = 1.5; // pixels of what is too little to be seen

/** Lays a flow out: at the left its parts lie on one another, at the right each has a row of at least a line. */
export function flowOf(branches: readonly Branch[]): { readonly ribbons: readonly Ribbon[]; readonly height: number } {
  const filled = branches.filter(({ samples }) => samples > 0);
  const total = filled.reduce((sum, { samples }) => sum + samples, 0);
  const heights = filled.map(({ samples }) => (HEIGHT * samples) / total);
  const rows = heights.map((height) => Math.max(ROW, Math.ceil(height) + 4));
  const height = rows.reduce((sum, row) => sum + row, 0);
  let [left, right] = [(height - HEIGHT) / 2, 0];
  const ribbons = filled.map((branch, i): Ribbon => {
    const [own = 0, row = 0] = [heights[i], rows[i]];
    const broad = Math.max(THIN, own);
    const [from, to] = [left, right + (row - broad) / 2];
    left += own;
    right += row;
    const path = `M0 ${f(from)}C50 ${f(from)} 50 ${f(to)} 100 ${f(to)}V${f(to + broad)}C50 ${f(to + broad)} 50 ${f(from + broad)} 0 ${f(from + broad)}Z`;
    return { branch, row, path };
  });
  return { ribbons, height };
}

function f(value: number): string {
  return value.toFixed(1);
}
