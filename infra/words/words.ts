/** A word that a reader of technical English does not expect, and what to write. */
export interface ReplacedWord {
  /** In small letters; with blanks it is a phrase, and then `scope` is not `anywhere`. */
  readonly word: string;
  readonly write: string;
  /**
   * `anywhere`: in identifiers (split at capitals, `_` and `-`), file names, comments, messages and docs. `prose`: in comments,
   * messages and docs. `first`: as the first word of a comment or of a docstring.
   */
  readonly scope: 'anywhere' | 'prose' | 'first';
}

/** What the code and its documentation do not say, in the order of what it is about. */
export const REPLACED_WORDS: readonly ReplacedWord[] = [
  // recording and reading
  { word: 'told', write: 'recorded, reported, given; in tests `recorded…`', scope: 'anywhere' },
  { word: 'tell', write: 'record, report, say; in tests `record…`', scope: 'anywhere' },
  { word: 'tells', write: 'records, reports; a function returns whether …', scope: 'anywhere' },
  { word: 'telling', write: 'recording, reporting', scope: 'anywhere' },
  { word: 'untold', write: 'unrecorded, not reported', scope: 'anywhere' },
  { word: 'story', write: 'event builder (tests), history', scope: 'anywhere' },
  { word: 'stories', write: 'event builders (tests), histories', scope: 'anywhere' },
  { word: 'anew', write: 'again', scope: 'anywhere' },
  { word: 'afresh', write: 'again', scope: 'anywhere' },
  { word: 'gives', write: 'returns, provides', scope: 'prose' },
  { word: 'give', write: 'return', scope: 'first' },
  { word: 'says', write: 'returns, reports, describes', scope: 'first' },
  // state
  { word: 'stands', write: 'is, holds; `stands for` is `represents`', scope: 'prose' },
  { word: 'stood', write: 'was', scope: 'prose' },
  { word: 'standing', write: 'status, in force, current', scope: 'anywhere' },
  { word: 'standings', write: 'statuses', scope: 'anywhere' },
  { word: 'in hand', write: 'in flight, open, current', scope: 'prose' },
  { word: 'at hand', write: 'available, given', scope: 'prose' },
  { word: 'manner', write: 'mode', scope: 'anywhere' },
  { word: 'elder', write: 'earlier, first duplicate', scope: 'anywhere' },
  { word: 'surroundings', write: 'overrides', scope: 'anywhere' },
  { word: 'learnt', write: 'learned', scope: 'anywhere' },
  { word: 'went back', write: 'regressed', scope: 'prose' },
  { word: 'of before', write: 'earlier', scope: 'prose' },
  { word: 'goes by', write: 'uses, follows', scope: 'prose' },
  { word: 'go by', write: 'use, follow', scope: 'prose' },
  { word: 'comes of', write: 'results from', scope: 'prose' },
  { word: 'came of', write: 'resulted from', scope: 'prose' },
  // place and relation
  { word: 'beside', write: 'next to; `besides` for in addition; a version is a shadow version', scope: 'anywhere' },
  { word: 'whom', write: 'name the subject: who, which process', scope: 'anywhere' },
  { word: 'amid', write: 'in the middle of, during', scope: 'anywhere' },
  { word: 'amongst', write: 'among', scope: 'anywhere' },
  { word: 'upon', write: 'on', scope: 'anywhere' },
  { word: 'thereof', write: 'of it', scope: 'anywhere' },
  { word: 'hereby', write: 'by this', scope: 'anywhere' },
  { word: 'withal', write: 'also', scope: 'anywhere' },
  { word: 'unto', write: 'to', scope: 'anywhere' },
  { word: 'lest', write: 'so that … not', scope: 'anywhere' },
  { word: 'nay', write: 'no', scope: 'anywhere' },
  // actors and actions
  { word: 'desk', write: 'lease service', scope: 'anywhere' },
  { word: 'door', write: 'endpoint, target, boundary', scope: 'anywhere' },
  { word: 'doors', write: 'endpoints, targets, boundaries', scope: 'anywhere' },
  { word: 'deed', write: 'fault', scope: 'anywhere' },
  { word: 'deeds', write: 'faults', scope: 'anywhere' },
  { word: 'crew', write: 'process group', scope: 'anywhere' },
  { word: 'fallen', write: 'exited', scope: 'anywhere' },
  { word: 'befall', write: 'happen to', scope: 'anywhere' },
  { word: 'befell', write: 'happened to', scope: 'anywhere' },
  { word: 'last words', write: 'stderr tail', scope: 'prose' },
  { word: 'oust', write: 'evict', scope: 'anywhere' },
  { word: 'ousts', write: 'evicts', scope: 'anywhere' },
  { word: 'ousted', write: 'evicted', scope: 'anywhere' },
  { word: 'ousting', write: 'evicting', scope: 'anywhere' },
  { word: 'make room', write: 'evict', scope: 'prose' },
  { word: 'patiently', write: 'with retry', scope: 'anywhere' },
  { word: 'mend', write: 'repair, restore', scope: 'anywhere' },
  { word: 'mends', write: 'repairs, restores', scope: 'anywhere' },
  { word: 'mended', write: 'repaired, restored', scope: 'anywhere' },
  { word: 'reckon', write: 'compute, count', scope: 'anywhere' },
  { word: 'reckons', write: 'computes, counts', scope: 'anywhere' },
  { word: 'reckoned', write: 'computed, counted', scope: 'anywhere' },
  { word: 'unruly', write: 'failed', scope: 'anywhere' },
  { word: 'seldom', write: 'rarely', scope: 'anywhere' },
  { word: 'in vain', write: 'without success', scope: 'prose' },
  { word: 'shall', write: 'must, should, is to', scope: 'prose' },
];

/** Names that hold one of the words and cannot change, or are another's; they are taken out of a text before it is searched. */
export const ALLOWED: readonly { readonly text: RegExp; readonly files?: RegExp; readonly reason: string }[] = [
  { text: /\blease(?:[_-]d|D)esk\b/g, reason: 'a table, and the name of the producer in recorded events' },
  { text: /\bdesk(?:_d|D)atabase\b/g, reason: 'a table' },
  { text: /\b(?:toldAt|told_at)\b/g, reason: 'a field of the GraphQL API, and its column' },
  { text: /\bwhom\b/g, files: /^docs\/evidence\//, reason: 'what a program printed on the date named there' },
  { text: /\b(?:gives|given?) (?:up|back)\b/gi, reason: 'plain English' },
  { text: /\bstands (?:in )?for\b/gi, reason: 'plain English for represents' },
  {
    text: /\banew\b/g,
    files: /^src\/(?:projections\/rebuild|usecases\/re(?:play|build|lease)|cli)\//,
    reason: 'a key of the reports of `espalier rebuild` and `espalier replay projections`',
  },
  { text: /\bscored anew by\b/g, reason: 'a reason in recorded events, which a repeated command must write again' },
  { text: /desk/gi, files: /alfworld/, reason: 'desks of a house, and the lamp on one: types of ALFWorld' },
  { text: /\bstanding\b/g, files: /score/, reason: 'a key of the report of `espalier score`' },
  { text: /\bmanner\b/gi, files: /search-qa|docs\//, reason: 'a key of the addresses of search-qa' },
  {
    text: /\b(?:OPEN_)?DOORS?\b/gi,
    files: /^src\/environments\/agentgym\//,
    reason: 'doors of a house: the words of ScienceWorld and BabyAI',
  },
  {
    text: /\b(?:open )?(?:desk|doors?)\b/gi,
    reason: 'desks and doors of a house: what actions and observations of ALFWorld and ScienceWorld name',
  },
  {
    text: /doors?/gi,
    files: /babyai|scienceworld|published/,
    reason: 'doors of a house: names of levels and options of BabyAI and ScienceWorld',
  },
  { text: /'(?:story|elder)'/g, files: /^src\/testing\//, reason: 'parts that the ids of frozen fixtures are derived from' },
  {
    text: /What you were told at the start|'stands' : 'stand'|it cannot be told yet|I must reckon again|you are told|as it stands|'I try something beside the plan.'|and gives (?:what it printed|the best ones)/gi,
    files: /^src\/(?:domain\/(?:prompts|revision)|environments|policies)\//,
    reason: 'texts that models read: runs record them, and their hashes are parts of ids',
  },
];

/** What is not searched: not ours to word, or made from what is searched. */
export const SKIPPED: readonly { readonly path: RegExp; readonly reason: string }[] = [
  { path: /(^|\/)(fixtures|generated|vectors|recipes)\//, reason: 'records, published texts, or made from other files' },
  { path: /^docs\/reference\//, reason: 'made from the code' },
  { path: /^migrations\//, reason: 'never edited after release' },
  { path: /^CHANGELOG\.md$/, reason: 'names what earlier releases called things' },
  { path: /^infra\/words\//, reason: 'names the words' },
  { path: /^package-lock\.json$/, reason: "npm's own format" },
];
