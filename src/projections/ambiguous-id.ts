/** Several trees have something under one id, which identifies it only within its tree: alone it names none of them. */
export class AmbiguousId extends Error {
  override readonly name = 'AmbiguousId';
  constructor(kind: string, id: string) {
    super(`${kind} ${id} is ambiguous: several trees have one; name it through its tree`);
  }
}
