/** Everything that determines what comes out of a stage. */
export interface StageInputs {
  readonly kind: string;
  /** As they were checked, defaults filled in. */
  readonly options: unknown;
  readonly seed: number;
  readonly codeVersion: string;
  /** What the options name and do not hold: the worlds and files of weights, by their names. */
  readonly fingerprints: Readonly<Record<string, string>>;
  /** The digests of what the stages came to that it uses, by the field that names them. */
  readonly used: Readonly<Record<string, string>>;
}

/**
 * Returns the key of a stage: stages of one key come to the same, so that the outcome of one is that of all. Its own name, its
 * arm and its experiment do not count. @param digest of a value, whatever the order of its fields.
 */
export function stageKey(inputs: StageInputs, digest: (value: unknown) => string): string {
  const { kind, options, seed, codeVersion, fingerprints, used } = inputs;
  return digest(['espalier-stage/1', kind, options, seed, codeVersion, fingerprints, used]);
}
