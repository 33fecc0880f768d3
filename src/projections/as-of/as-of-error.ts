/** Why a moment of the record cannot be shown. */
export type AsOfReason =
  /** The position or time is no moment that the journal has passed. */
  | 'not-reached'
  /** More events would have to be folded than `ESPALIER_ASOF_LIMIT` allows. */
  | 'too-large';

/** A moment of the record that cannot be shown, with the remedy. */
export class AsOfError extends Error {
  override readonly name = 'AsOfError';
  readonly code: AsOfReason;
  constructor(code: AsOfReason, message: string) {
    super(message);
    this.code = code;
  }
}
