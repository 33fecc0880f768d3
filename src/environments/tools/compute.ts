import jsep from 'jsep';

/** A number as Python has it: whole ones are exact (bigint), the others doubles. One double makes a result a double. */
type Value = number | bigint;

/** An expression cannot be computed: the message is shown to whoever wrote it. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

const LONGEST = 1_000; // characters; parsing and computing take time in proportion, and nesting cannot be deeper
const NAMES: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E };
const FUNCTIONS: Readonly<Record<string, (...numbers: Value[]) => Value>> = {
  abs: (x = Number.NaN) => (x < 0 ? -x : x),
  ceil: (x) => (typeof x === 'bigint' ? x : wholeOf(Math.ceil(Number(x)))),
  cos: (x) => Math.cos(Number(x)),
  exp: (x) => Math.exp(Number(x)),
  floor: (x) => (typeof x === 'bigint' ? x : wholeOf(Math.floor(Number(x)))),
  log: (x, base) => Math.log(Number(x)) / (base === undefined ? 1 : Math.log(Number(base))),
  log10: (x) => Math.log10(Number(x)),
  log2: (x) => Math.log2(Number(x)),
  max: (...all) => firstOf(all, (a, b) => a > b),
  min: (...all) => firstOf(all, (a, b) => a < b),
  pow: (x = Number.NaN, y = Number.NaN) => power(x, y),
  round: (x = Number.NaN, digits = 0n) => roundTo(x, Number(digits)),
  sin: (x) => Math.sin(Number(x)),
  sqrt: (x) => Math.sqrt(Number(x)),
  tan: (x) => Math.tan(Number(x)),
};

jsep.addBinaryOp('//', 10); // whole division
jsep.addBinaryOp('^', 11, true); // what models write for a power

/**
 * Computes an arithmetic expression: `+ - * / // % ** ^ ( )`, a few functions and constants, numbers, signs and remainders as in
 * Python: whole numbers are exact however large (`2**60 % 10` is 6), `-2**2` is −4, `-7 % 3` is 2. It is parsed, and computed
 * from the parsed tree: no text is ever executed. At most 1,000 characters. Returns a bigint for a whole number that no double
 * holds exactly. @throws ExpressionError for what is none, has unknown names, or has no finite value.
 */
export function compute(expression: string): Value {
  if (expression.length > LONGEST) throw new ExpressionError(`expression is longer than ${LONGEST} characters`);
  let parsed: jsep.Expression;
  try {
    parsed = jsep(withNamedGroups(expression));
  } catch (cause) {
    throw new ExpressionError(`invalid expression: ${(cause as Error).message}`, { cause }); // jsep throws nothing else
  }
  const value = evaluate(parsed);
  if (!Number.isFinite(Number(value))) throw new ExpressionError('the result is no finite number');
  return typeof value === 'bigint' && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** The parser forgets parentheses, which `-2**2` and `(-2)**2` differ by, so they are named here. */
function withNamedGroups(expression: string): string {
  return expression.replaceAll(/(?<![\p{L}\p{N}_)]\s*)\(/gu, 'group(');
}

function evaluate(node: jsep.Expression): Value {
  const parsed = node as jsep.CoreExpression; // no plug-in adds kinds of nodes
  switch (parsed.type) {
    case 'Literal':
      if (typeof parsed.value !== 'number') throw new ExpressionError('invalid expression: only numbers can be computed with');
      return /^\d+$/.test(parsed.raw) ? BigInt(parsed.raw) : parsed.value;
    case 'Identifier':
      return lookUp(NAMES, parsed.name, 'name');
    case 'UnaryExpression':
      return signed(parsed.operator, evaluate(parsed.argument));
    case 'BinaryExpression':
      return combine(parsed);
    case 'CallExpression': {
      if (parsed.callee.type !== 'Identifier') throw new ExpressionError('invalid expression');
      const name = String(parsed.callee.name);
      const [inner, ...others] = parsed.arguments;
      if (name === 'group') {
        if (inner === undefined || others.length > 0) throw new ExpressionError('invalid expression');
        return evaluate(inner);
      }
      return lookUp(FUNCTIONS, name, 'function')(...parsed.arguments.map(evaluate));
    }
    default:
      throw new ExpressionError('invalid expression');
  }
}

function combine({ operator, left, right }: jsep.BinaryExpression): Value {
  const isPower = operator === '**' || operator === '^';
  if (isPower && left.type === 'UnaryExpression') {
    const { operator: sign, argument } = left as jsep.UnaryExpression; // as its type says
    return signed(sign, power(evaluate(argument), evaluate(right)));
  }
  const [a, b] = [evaluate(left), evaluate(right)];
  if (isPower) return power(a, b);
  if (Number(b) === 0 && ['/', '//', '%'].includes(operator)) throw new ExpressionError('division by zero');
  if (typeof a === 'bigint' && typeof b === 'bigint' && operator !== '/') return combineWhole(operator, a, b);
  const [x, y] = [Number(a), Number(b)];
  switch (operator) {
    case '+':
      return x + y;
    case '-':
      return x - y;
    case '*':
      return x * y;
    case '/':
      return x / y;
    case '//':
      return Math.floor(x / y);
    case '%': {
      const rest = x % y;
      return rest !== 0 && rest < 0 !== y < 0 ? rest + y : rest;
    }
    default:
      throw unknownOperator(operator);
  }
}

/** Combines whole numbers. A remainder has the sign of the divisor, and a whole quotient is rounded down. */
function combineWhole(operator: string, a: bigint, b: bigint): bigint {
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '//':
      return (a - (((a % b) + b) % b)) / b;
    case '%':
      return ((a % b) + b) % b;
    default:
      throw unknownOperator(operator);
  }
}

function unknownOperator(operator: string): ExpressionError {
  return new ExpressionError(`invalid expression: there is no operator ${operator}`);
}

const POWER_BITS = 10_000; // of a whole power: some 3,000 digits, computed in no time

/** Computes a power. @throws ExpressionError for a whole one of more than some thousand digits: it would hold the process. */
function power(a: Value, b: Value): Value {
  if (typeof a !== 'bigint' || typeof b !== 'bigint' || b < 0n) return Number(a) ** Number(b);
  if (b * BigInt(a.toString(2).length) > POWER_BITS) throw new ExpressionError('the result is no finite number');
  return a ** b;
}

function signed(sign: string, value: Value): Value {
  if (sign !== '-' && sign !== '+') throw new ExpressionError(`invalid expression: there is no sign ${sign}`);
  return sign === '-' ? -value : value;
}

function lookUp<T>(known: Readonly<Record<string, T>>, name: string, what: string): T {
  const found = Object.hasOwn(known, name) ? known[name] : undefined;
  if (found === undefined) throw new ExpressionError(`there is no ${what} ${JSON.stringify(name)}`);
  return found;
}

/** Returns the value that none beats, as it is: `Math.max` takes no bigint. */
function firstOf(values: readonly Value[], beats: (a: Value, b: Value) => boolean): Value {
  let first = values[0] ?? Number.NaN;
  for (const value of values) if (beats(value, first)) first = value;
  return first;
}

function wholeOf(value: number): Value {
  return Number.isFinite(value) ? BigInt(value) : value;
}

function roundTo(x: Value, digits: number): Value {
  if (typeof x === 'bigint' && digits >= 0) return x;
  const scale = 10 ** digits;
  return Math.round(Number(x) * scale) / scale;
}
