import { useEffect, useId, useState } from 'react';

const QUIET_MS = 250; // behind the last key: each letter would be a question

interface FilterTextProps {
  readonly name: string;
  readonly value: string | undefined;
  readonly set: (value: string | undefined) => void;
  readonly hint: string;
  /** The key `/` leads here. */
  readonly find?: true;
  /** What may be chosen, as far as it is known. */
  readonly known?: readonly string[] | undefined;
}

/** A text that a list is filtered by: it takes effect when nothing more is written. */
export function FilterText({ name, value = '', set, hint, find, known }: FilterTextProps) {
  const list = useId();
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text === value) return;
    const timer = setTimeout(() => set(text || undefined), QUIET_MS);
    return () => clearTimeout(timer);
  });
  return (
    <label>
      {name}
      <input
        {...(find ? { 'data-find': true } : {})}
        value={text}
        placeholder={hint}
        onChange={(event) => setText(event.target.value)}
        {...(known ? { list } : {})}
      />
      {known ? (
        <datalist id={list}>
          {known.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      ) : null}
    </label>
  );
}
