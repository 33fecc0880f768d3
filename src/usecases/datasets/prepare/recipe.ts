import { z } from 'zod';

/** What is taken of one row of a data set. */
export interface SourceQuestion {
  /** The data set's own id; null where it has none. */
  readonly id: string | null;
  readonly question: string;
  /** The texts that count as right, the first the one that the data set prints. */
  readonly answers: readonly [string, ...string[]];
  /** The answer as the data set writes it, with its derivation where there is one. */
  readonly answer: string;
  /** What else is known of the question, by the names in the recipe's `info`. */
  readonly info: Readonly<Record<string, string | null>>;
}

/**
 * What a row is: a question; one that is left out because nobody can answer it, or whose answer is kept back; or no row of this
 * data set.
 */
export type ParsedRow =
  | { readonly kind: 'question'; readonly question: SourceQuestion }
  | { readonly kind: 'unanswerable' }
  | { readonly kind: 'without-answer' }
  | BadRow;

/** A row that is no row of the data set. */
export interface BadRow {
  readonly kind: 'bad';
  readonly field: string;
  readonly problem: string;
}

/** What a search finds: a paragraph under its title. */
export interface Passage {
  readonly title: string;
  readonly text: string;
}

/** The passages that a data set gives with a question. */
export interface QuestionPassages {
  readonly kind: 'passages';
  /** The question's id. */
  readonly id: string;
  readonly passages: readonly Passage[];
}

/** How the rows of a file are read: `columns` are those of a Parquet file that are read. */
export interface RowReader<Row> {
  readonly columns: readonly string[];
  parse(row: unknown): Row | BadRow;
}

/** How one data set is read, and what its questions become. */
export interface Recipe extends RowReader<ParsedRow> {
  readonly name: string;
  /** As verl's rows and Agent-R1's scorers name it. */
  readonly dataSource: string;
  readonly ability: string;
  /** Whether the ground truth is one text or a list of texts: one type for all rows, because a column of Parquet has one. */
  readonly groundTruth: 'text' | 'texts';
  /** The names of what `info` holds, in the order of the columns that they become. */
  readonly info: readonly string[];
  /** What a prompt puts before the question, and after it unless another instruction is given. */
  readonly prefix: string;
  readonly instruction: string;
  /** Reads the passages of rows, a second time through the files; null for a data set that has none. */
  readonly passages: RowReader<QuestionPassages> | null;
}

/** Reads a row by its shape, or says which field keeps it from being one. */
export function parseShape<T, Row>(shape: z.ZodType<T>, row: unknown, take: (data: T) => Row): Row | BadRow {
  const parsed = shape.safeParse(row);
  if (parsed.success) return take(parsed.data);
  const [issue] = parsed.error.issues;
  return { kind: 'bad', field: issue?.path.join('.') || 'the row', problem: issue?.message ?? 'is not as expected' };
}

/** Reads a value that a file holds as JSON text. @param what the value is, for the error. */
export function jsonText<T>(shape: z.ZodType<T>, what: string) {
  return z.string().transform((text, context): T => {
    try {
      const parsed = shape.safeParse(JSON.parse(text));
      if (parsed.success) return parsed.data;
    } catch {
      // said below: a text that is no JSON and one of another shape are the same mistake
    }
    context.addIssue({ code: 'custom', message: `is no JSON text of ${what}` });
    return z.NEVER;
  });
}

/** A text as it may be stored: half surrogates and NUL become U+FFFD. */
export const words = z.string().transform((text) => text.toWellFormed().replaceAll('\0', '\uFFFD'));
/** A text that says something, without the blanks around it. */
export const said = words.transform((text) => text.trim()).pipe(z.string().min(1, 'is empty'));
/** An answer; absent, null or blank where the data set keeps it back. */
export const answerText = words.transform((text) => text.trim()).nullish();
/** An integer; Parquet yields those of 64 bits as bigint. */
export const whole = z.union([z.number(), z.bigint().transform(Number)]);
