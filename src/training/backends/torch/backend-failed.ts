/**
 * Why a training process gave no answer: it ended or was too slow, spoke another protocol, or said so itself (the codes of
 * `session.py`).
 */
export type FailureCode = 'ended' | 'timeout' | 'protocol' | 'refused' | 'not-finite' | 'damaged' | 'memory' | 'fault';

const CODES: readonly FailureCode[] = ['protocol', 'refused', 'not-finite', 'damaged', 'memory', 'fault'];

/** A training process failed; the message ends with the last it said. The batch is given back: nothing of the update is kept. */
export class BackendFailed extends Error {
  override readonly name = 'BackendFailed';
  readonly code: FailureCode;
  constructor(code: FailureCode, message: string, said = '') {
    super(said === '' ? message : `${message}; it said last:\n${said}`);
    this.code = code;
  }
}

/** Reads the code of an error that the process answered with; one that is not known is a fault. */
export function failureCode(code: unknown): FailureCode {
  return CODES.find((known) => known === code) ?? 'fault';
}
