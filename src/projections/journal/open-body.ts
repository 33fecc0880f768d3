import { openValue, type Unseal } from '../../events/codec.ts';

/** Opens the sealed payload of a record of the journal. All else is as it was appended: an old shape stays the old shape. */
export function openBody(body: string, unseal: Unseal): string {
  return body.includes('"sealed":{"key":"') ? JSON.stringify(openValue(JSON.parse(body), unseal)) : body;
}
