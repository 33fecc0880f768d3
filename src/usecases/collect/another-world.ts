/** The environment that was opened is not the one that the record comes from: other words, or other rules. */
export class AnotherWorld extends Error {
  override readonly name = 'AnotherWorld';
}
