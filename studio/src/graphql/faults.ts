/** The server does not know who asks. */
export class NotLetIn extends Error {
  override readonly name = 'NotLetIn';
}

/** The server did not answer: it is stopped, or the network is broken. */
export class ServerAway extends Error {
  override readonly name = 'ServerAway';
}

/** The page was written without this: there is no server to ask. */
export class NotInPage extends Error {
  override readonly name = 'NotInPage';
}

/** The server refused a query, or could not answer it. */
export class Refused extends Error {
  override readonly name = 'Refused';
  /** The code of the first error: FORGOTTEN, LIMIT_EXCEEDED, … */
  readonly code: string;
  constructor(message: string, code: string) {
    super(message);
    this.code = code;
  }
}
