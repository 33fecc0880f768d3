/** Whether a number is what it was when it is stored in float32: a finite one beyond 3.4e38 becomes infinite. */
export function fitsFloat32(value: number): boolean {
  return Number.isFinite(Math.fround(value)) || !Number.isFinite(value);
}
