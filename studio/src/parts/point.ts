/** A point of a curve, and where it leads. */
export interface Point {
  readonly series: string;
  readonly x: number;
  readonly y: number;
  readonly title: string;
}
