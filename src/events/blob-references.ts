import type { Envelope } from './envelope.ts';
import { freeFormFields, pathIn } from './free-form.ts';
import { type BlobRef, blobRef } from './schemas/values.ts';

/** A reference to a payload in the blob store. */
export interface FoundReference {
  /** Its place: `data.observation`. */
  readonly path: string;
  readonly reference: BlobRef;
  /** `free-form`: in a part that is the producer's own, where an object may look like a reference and be none. */
  readonly part: 'typed' | 'free-form';
}

/** Finds the blob references of an event. Its data fit their schema, so their depth is bounded. */
export function blobReferences(event: Envelope): readonly FoundReference[] {
  const freeForm = freeFormFields(event.type);
  const found: FoundReference[] = [];
  const look = (value: unknown, place: string, field: string, part: FoundReference['part']) => {
    if (typeof value !== 'object' || value === null) return;
    const here = freeForm.has(field) ? 'free-form' : part;
    if ('blob' in value) {
      const parsed = blobRef.safeParse(value);
      if (parsed.success) {
        found.push({ path: place, reference: parsed.data, part: here });
        return;
      }
    }
    for (const [key, item] of Object.entries(value))
      look(item, `${place}.${key}`, pathIn(field, Array.isArray(value) ? '*' : key), here);
  };
  look(event.data, 'data', '', 'typed');
  return found;
}
