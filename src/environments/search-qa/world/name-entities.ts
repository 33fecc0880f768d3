import type { Random } from '../../../domain/random/random.ts';
import { type EntityKind, RELATIONS } from './relations.ts';

const ONSETS = ['b', 'br', 'd', 'dr', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'r', 's', 'st', 't', 'tr', 'v', 'z'];
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ai', 'ea'];
const CODAS = ['', 'l', 'm', 'n', 'nd', 'r', 'rk', 's', 'sk', 't', 'x'];
const GIVEN = [
  'Ada',
  'Bela',
  'Cato',
  'Dina',
  'Edo',
  'Fara',
  'Gil',
  'Hana',
  'Ivo',
  'Juna',
  'Kaj',
  'Lena',
  'Milo',
  'Nora',
  'Otto',
  'Pia',
];

/** Makes names that no other entity has: a new word in each, joined with what names the kind. */
export function createNamer(random: Random): (kind: EntityKind) => string {
  const used = new Set([...GIVEN.map((name) => name.toLowerCase()), ...RELATIONS.map(({ key }) => key)]);
  const word = (): string => {
    for (;;) {
      const syllable = () => random.choice(ONSETS) + random.choice(VOWELS);
      const made = syllable() + syllable() + random.choice(CODAS);
      if (used.has(made)) continue;
      used.add(made);
      return made[0]?.toUpperCase() + made.slice(1); // never empty: two syllables
    }
  };
  return (kind) => {
    switch (kind) {
      case 'academy':
        return `${word()} Academy`;
      case 'company':
        return `${word()} Company`;
      case 'country':
        return `Kingdom of ${word()}`;
      case 'mountain':
        return `Mount ${word()}`;
      case 'person':
        return `${random.choice(GIVEN)} ${word()}`; // given names are shared, as in life: only the whole name identifies a person
      case 'river':
        return `River ${word()}`;
      case 'scholar':
        return `Doctor ${word()}`;
      case 'town':
        return `${random.choice(['Port', 'Fort'])} ${word()}`;
      default:
        return kind satisfies never;
    }
  };
}
