/** A notebook of Jupyter (nbformat 4), as far as tests look at it. */
export interface Notebook {
  readonly cells: readonly Cell[];
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly nbformat: number;
  readonly nbformat_minor: number;
}

interface Cell {
  readonly cell_type: 'code' | 'markdown';
  readonly id: string;
  readonly source: readonly string[];
  readonly execution_count?: number | null;
  readonly outputs?: readonly Output[];
}

interface Output {
  readonly output_type: 'stream' | 'execute_result' | 'display_data' | 'error';
  readonly name?: 'stdout' | 'stderr';
  readonly text?: string | readonly string[];
  readonly data?: Readonly<Record<string, string | readonly string[]>>;
}

/** Returns what the cells printed, one after the other. */
export function printed(notebook: Notebook, name: 'stdout' | 'stderr' = 'stdout'): string {
  return outputsOf(notebook)
    .filter((output) => output.output_type === 'stream' && output.name === name)
    .map(({ text = '' }) => joined(text))
    .join('');
}

/** Returns what the cells show in one form, one after the other. */
export function shown(notebook: Notebook, form: 'text/plain' | 'text/html'): string {
  return outputsOf(notebook)
    .map(({ data }) => joined(data?.[form] ?? ''))
    .join('\n');
}

/** Writes an executed notebook as it is stored: its outputs, and nothing of when and where it was executed. */
export function stored({ cells, nbformat, nbformat_minor }: Notebook): string {
  const metadata = {
    kernelspec: { display_name: 'Python 3', language: 'python', name: 'python3' },
    language_info: { name: 'python' },
  };
  const kept = cells.map((cell) => ({ ...cell, metadata: {} }));
  return `${JSON.stringify({ cells: kept, metadata, nbformat, nbformat_minor }, null, 1)}\n`;
}

function outputsOf({ cells }: Notebook): readonly Output[] {
  return cells.flatMap(({ outputs = [] }) => outputs);
}

function joined(text: string | readonly string[]): string {
  return typeof text === 'string' ? text : text.join('');
}
