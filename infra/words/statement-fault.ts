/** Words that begin a name which lacks its subject. */
const FRAGMENT_BEGINS = new Set(
  'is are was were has have had does do did can cannot may must will would of with without for that whose which who and or but than'
    .concat(' says takes gives refuses goes comes makes keeps holds stays finds tells shows reads writes begins')
    .split(' '),
);
/** A first word with one capital that is a name. */
const PROPER_NAMES = new Set('Latin Maze Parquet Python Wordle'.split(' '));

const ALWAYS_VERBS = new Set('is are was were has have had does do did can cannot may must will would'.split(' '));
/** Verbs without an s whose subject is a plural further to the left; a new one is added here. */
const PLURAL_VERBS = new Set(
  'agree block change count equal follow include keep lead make miss need need reach run share show survive tie wait yield earn'
    .concat(' differ depend hold contain begin end remain return')
    .split(' '),
);
/** What precedes a noun: the s of the next word is that of a plural. */
const BEFORE_NOUNS = new Set(
  'of in with by to from at on for as into over under behind after before between within without through until than and or nor but not'
    .concat(
      ' a an the all its their his our my this these those that which who whose each every any some many few several no other two',
    )
    .concat(' three four five ten twenty hundred thousand such equal same more most only own')
    .split(' '),
);
/** What may follow a plural and is no verb. */
const AFTER_PLURALS = new Set(
  'of in with by to from at on for as into over under behind after before between within without through until than and or nor but not'
    .concat(
      ' a an the all its their that which who whose also too only where when while if however whatever never always once twice',
    )
    .split(' '),
);

/** Returns why a test name is not a full statement, or undefined; where the form of a word does not decide, it is accepted. */
export function statementFault(name: string): string | undefined {
  const words = name
    .replace(/`[^`]*`/g, 'code')
    .replace(/[(),;:"“”]/g, ' , ')
    .split(/\s+/)
    .filter((word) => word !== '');
  const [first = ''] = words;
  if (words.filter((word) => word !== ',').length < 3) return 'it has fewer than three words';
  if (FRAGMENT_BEGINS.has(first)) return `it begins with "${first}", so that it lacks its subject`;
  if (/^[A-Z][a-z]+$/.test(first) && !PROPER_NAMES.has(first)) return `it begins with "${first}": begin in lower case`;
  if (/[.:,]$/.test(name)) return 'it ends with a punctuation mark';
  if (!words.some((word, i) => i > 0 && isVerb(word, words[i - 1] ?? ''))) return 'it has no finite verb';
  return undefined;
}

function isVerb(word: string, before: string): boolean {
  if (ALWAYS_VERBS.has(word) || PLURAL_VERBS.has(word)) return true;
  if (!/^[a-z]+$/.test(word)) return false;
  if (endsInS(word)) return !BEFORE_NOUNS.has(before);
  return endsInS(before) && !AFTER_PLURALS.has(word) && !/(ed|ing|ly)$/.test(word);
}

function endsInS(word: string): boolean {
  return /[a-z]s$/.test(word) && !/(ss|us|is|selves)$/.test(word);
}
