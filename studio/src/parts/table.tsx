import type { Key, ReactNode } from 'react';

/** The head of a column, what a row has in it, and how: `number` is set to the right, `name` names the row. */
export type Column<Row> = readonly [
  head: ReactNode,
  cell: (row: Row, at: number) => ReactNode,
  as?: 'number' | 'name' | 'said-long',
];

/** A table that scrolls where it has no room. */
export function Table<Row>({
  label,
  rows,
  columns,
  keyOf,
  tall = false,
  className = '',
  caption,
  rowProps,
}: {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row, at: number) => Key;
  /** Of many rows: it scrolls downwards too. */
  readonly tall?: boolean;
  readonly className?: string;
  readonly caption?: string;
  readonly rowProps?: (row: Row) => object;
}) {
  return (
    <div className={tall ? 'scroll-x scroll-y' : 'scroll-x'} role="region" aria-label={label} tabIndex={0}>
      <table className={`rows ${className}`}>
        {caption === undefined ? null : <caption className="faint">{caption}</caption>}
        <thead>
          <tr>
            {columns.map(([head, , as], at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
              <th key={at} scope="col" className={as === 'number' ? as : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={keyOf(row, at)} {...rowProps?.(row)}>
              {columns.map(([, cell, as], column) => {
                const [Cell, given] = as === 'name' ? (['th', { scope: 'row' }] as const) : (['td', { className: as }] as const);
                return (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
                  <Cell key={column} {...given}>
                    {cell(row, at)}
                  </Cell>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
