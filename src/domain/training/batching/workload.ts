/** Relative cost of a row of L tokens, 24576·L + L² (verl's calibration on a 7B model): the linear layers and attention. */
export function rowWorkload(length: number): number {
  return 24_576 * length + length * length;
}
