/** Returns the folder of the studio that is built from the sources as they are, built now where there is none; null where it cannot be. */
export function studioFolder(): Promise<string | null>;
