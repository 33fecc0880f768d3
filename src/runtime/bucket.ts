/** A place in S3, or in what speaks its protocol, and how it is reached. */
export interface Bucket {
  readonly bucket: string;
  /** Before the name of each object, without a slash at its end; empty for none. */
  readonly prefix: string;
  /** Of a store other than that of AWS; null for theirs. */
  readonly endpoint: string | null;
  /** Null for that of the SDK's own settings. */
  readonly region: string | null;
  readonly pathStyle: boolean;
  /** Null for the SDK's own chain: profile, web identity, metadata of the machine. */
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken: string | null;
  } | null;
  /** Whether clients that ask for large files are sent to the bucket by a signed address. */
  readonly redirects: boolean;
}
