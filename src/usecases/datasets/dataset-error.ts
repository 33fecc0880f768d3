/**
 * What can go wrong between the record and a file, each with its remedy in the message. No file is left behind by any of them.
 */
export class DatasetError extends Error {
  override readonly name = 'DatasetError';
  readonly code: DatasetErrorCode;
  constructor(code: DatasetErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}

export type DatasetErrorCode =
  | 'invalid-query' // a filter that does not parse
  | 'nothing-matches' // no trajectory matches the query
  | 'file-exists' // the target is there and may not be replaced
  | 'cannot-write' // folder missing or closed, disk full
  | 'cannot-read' // source missing or closed
  | 'projections-behind' // the read models did not catch up with each other in time
  | 'incomplete' // what the selection counts is not what the record yields
  | 'forgotten' // payload that the selection needs is forgotten
  | 'blob' // a payload is missing from the blob store or damaged there
  | 'missing-tokens' // a format needs token ids that were not recorded
  | 'missing-prompt' // what a policy was asked with is not recorded, or the record does not come to it
  | 'context' // a format cannot say which replies of a row are not to be trained on
  | 'no-turn' // a format of questions and answers has no place for a reply that follows no message of the user
  | 'structure' // a format has no place for a call of a tool, its result or reasoning
  | 'unclear' // calls next to the path of a rollout may belong to it, or parts of its calls could not be read
  | 'picture' // a picture of a prompt does not come out of the record, or a format has no place for it
  | 'bad-row' // a row of an import file breaks a rule
  | 'conflict'; // the record holds another fact under an id of the file

/** Refuses placeholders as examples. @param total how many trajectories were chosen. */
export function payloadForgotten(forgotten: number, total: number): DatasetError {
  return new DatasetError(
    'forgotten',
    `the payload of ${forgotten} of the ${total} trajectories is forgotten; choose others, by --run or another filter`,
  );
}

/**
 * Returns the words of whatever was thrown. By its fields: an error of node may come from another realm, where `instanceof` says
 * no.
 */
export function reasonOf(cause: unknown): string {
  return typeof cause === 'object' && cause !== null && 'message' in cause ? String(cause.message) : String(cause);
}

/** Returns the code of a fault of the system (`ENOENT`), or ''. */
export function codeOf(cause: unknown): string {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
}
