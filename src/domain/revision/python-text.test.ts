import { describe, expect, test } from '@jest/globals';
import { pythonStrip } from '../text/python-strip.ts';
import { pythonJson, pythonWordCount } from './published-rows.ts';

describe('Python texts', () => {
  test('pythonJson equals json.dumps with ensure_ascii=False: blanks after commas and colons, keys in order, scripts unchanged', () => {
    const value = { b: 'Zoë "\\\n\t\u0001\u007f\u2028', a: [true, false, null, [], {}], 日本: { c: '🜂' } };
    expect(pythonJson(value)).toBe(
      '{"b": "Zoë \\"\\\\\\n\\t\\u0001\u007f\u2028", "a": [true, false, null, [], {}], "日本": {"c": "🜂"}}',
    );
  });

  test('numbers that Python may write differently, and values that JSON lacks, are refused', () => {
    for (const value of [1, [0.5], { a: undefined }, 2n]) expect(() => pythonJson(value)).toThrow(TypeError);
  });

  test('strip() and split() recognise other blanks than `trim` does', () => {
    expect(pythonStrip('\x1c\u3000 a b\x85\n')).toBe('a b');
    expect(pythonStrip('\ufeffa')).toBe('\ufeffa');
    expect(['', ' \n', 'a', ' a\x1fb\xa0c\ufeffd '].map(pythonWordCount)).toEqual([0, 0, 1, 3]);
  });
});
