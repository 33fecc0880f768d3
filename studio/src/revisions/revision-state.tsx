const CLASSES: Readonly<Record<string, string>> = { verified: 'state-completed', rejected: 'state-failed' };

/** Whether a revision held when it was executed. */
export function RevisionState({ of }: { readonly of: string }) {
  return <span className={`state ${CLASSES[of] ?? 'state-running'}`}>{of}</span>;
}
