import type { ReactNode } from 'react';

/** A value that may be chosen, with what it is called where that is not its own name. */
export type Option = string | readonly [value: string, name: string];

/** Chooses one of some values; '' is no choice. */
export function Choose({
  label,
  value = '',
  options,
  set,
  className,
}: {
  readonly label: ReactNode;
  readonly value?: string | undefined;
  readonly options: readonly Option[];
  readonly set: (value: string) => void;
  readonly className?: 'faint';
}) {
  return (
    <label className={className}>
      {label}{' '}
      <select value={value} onChange={(event) => set(event.target.value)}>
        <Options of={options} />
      </select>
    </label>
  );
}

export function Options({ of }: { readonly of: readonly Option[] }) {
  return of.map((option) => {
    const [value, name] = typeof option === 'string' ? [option, option] : option;
    return (
      <option key={value} value={value}>
        {name}
      </option>
    );
  });
}
