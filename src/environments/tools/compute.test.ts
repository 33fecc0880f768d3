import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { calculator, calculatorReward } from './calculator.ts';
import { compute } from './compute.ts';

// Each value is CPython's.
test.each([
  ['1 + 2 * 3', 7],
  ['(1 + 2) * 3', 9],
  ['-2**2', -4],
  ['(-2)**2', 4],
  ['2**-1', 0.5],
  ['2**3**2', 512],
  ['3*-2**2', -12],
  ['-7 // 2', -4],
  ['-7 % 3', 2],
  ['7 % -3', -2],
  ['1 - -1', 2],
  ['((2))', 2],
  ['.5 + 1e2', 100.5],
  ['sqrt(16) / abs(-2)', 2],
  ['max(1, 2, 3) - min(4, 5)', -1],
  ['round(2.345, 2)', 2.35],
  ['log(8, 2)', 3],
])('%s evaluates to %d', (expression, value) => {
  expect(compute(expression)).toBeCloseTo(value, 12);
});

test.each<[string, number | bigint]>([
  ['2**60 % 10', 6],
  ['2**60', 1152921504606846976n],
  ['12345678901234567890 * 98765432109876543210', 1219326311370217952237463801111263526900n],
  ['9007199254740993 + 0', 9007199254740993n],
  ['-(2**60) % 7', 6],
  ['-(2**60) // 7', -164703072086692426n],
  ['10**400 % 7', 4],
  ['10**400 // 10**398', 100],
  ['2**60 % 10.0', 6],
  ['5.5 % -2', -0.5],
  ['7.5 // 2', 3],
  ['2**-2', 0.25],
  ['abs(-(2**60)) - 2**60', 0],
  ['max(2**60, 2**60 + 1) - 2**60', 1],
  ['floor(1e17) + 1', 100000000000000001n],
  ['round(2**60) % 10', 6],
])('%s evaluates to exactly %s, as in Python', (expression, value) => {
  expect(compute(expression)).toBe(value);
});

test('the calculator prints every digit of a whole number', () => {
  expect(calculator().execute({ expression: '2**60 + 1' }, {} as never)).toBe('{"result": 1152921504606846977}');
});

describe('refused calculations', () => {
  test.each([
    ['', 'invalid expression'],
    ['1 +', 'invalid expression'],
    ['1 2', 'invalid expression'],
    ['1/0', 'division by zero'],
    ['9**999', 'no finite number'],
    ['9**9**9', 'no finite number'],
    ['x', 'no name "x"'],
    ['constructor', 'no name "constructor"'],
    ['constructor("return 1")()', 'invalid expression'],
    ['sqrt.constructor("return process")()', 'invalid expression'],
    ['this', 'invalid expression'],
    ['"a" + "b"', 'only numbers'],
    ['[1][0]', 'invalid expression'],
    ['1 == 1', 'no operator =='],
    ['a = 1', 'invalid expression'],
    ['1'.repeat(1_001), 'longer than 1000'],
    ['('.repeat(500) + ')'.repeat(500), 'invalid expression'],
  ])('%j is refused', (expression, message) => {
    expect(() => compute(expression)).toThrow(message);
  });

  test('any text yields a finite number or a reason', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.+-*/%^() e,sqrt'), maxLength: 60 }), (text) => {
        try {
          expect(Number.isFinite(Number(compute(text)))).toBe(true);
        } catch (error) {
          expect((error as Error).name).toBe('ExpressionError');
        }
      }),
    );
  });
});

describe('rewards of calculations', () => {
  test.each([
    ['7', 0.42],
    ['1+1', 0.44],
    ['(1+2)*(3+4)', 0.5],
  ])('%s earns %d', (expression, reward) => {
    expect(calculatorReward(expression)).toBeCloseTo(reward, 12);
  });

  test('an empty calculation earns nothing, and a failure earns little only as published', () => {
    const failed = '{"error": "division by zero"}';
    expect(calculator().reward?.({ expression: '' }, failed)).toBe(0);
    expect(calculator().reward?.({ expression: '1/0' }, failed)).toBe(0.05);
    expect(calculator('as-published').reward?.({ expression: '1/0' }, failed)).toBeCloseTo(0.44, 12);
  });
});
