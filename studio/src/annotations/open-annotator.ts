/** What can be annotated, as the mutation names it. */
export type Subject =
  | { readonly step: string; readonly inTree?: string | undefined }
  | { readonly rollout: string; readonly inTree?: string | undefined }
  | { readonly revision: string; readonly inTree?: string | undefined }
  | { readonly row: { readonly dataset: string; readonly line: number } };

/** A subject and what people call it. */
export interface Annotatable {
  readonly subject: Subject;
  readonly name: string;
}

const OPEN = 'espalier-annotate';

/** Opens the form by which something is annotated. */
export function openAnnotator(what: Annotatable): void {
  dispatchEvent(new CustomEvent(OPEN, { detail: what }));
}

/** Calls back for everything that is to be annotated. Returns what ends it. */
export function onOpenAnnotator(open: (what: Annotatable) => void): () => void {
  const hear = (event: Event) => open((event as CustomEvent<Annotatable>).detail); // only `openAnnotator` sends it
  addEventListener(OPEN, hear);
  return () => removeEventListener(OPEN, hear);
}

/** Attributes of an element that the key `a` annotates while the focus is in it. */
export function annotatable(what: Annotatable): { readonly 'data-annotate': string } {
  return { 'data-annotate': JSON.stringify(what) };
}

/** Returns what the focus is in: the innermost element with something to annotate, else the only one of the page. */
export function focused(): Annotatable | null {
  const all = document.querySelectorAll('[data-annotate]');
  const element =
    document.activeElement?.closest('[data-annotate]') ?? document.querySelector('[data-annotate].step-chosen') ?? all[0];
  const text = element?.getAttribute('data-annotate');
  return text ? (JSON.parse(text) as Annotatable) : null; // written by `annotatable`
}
