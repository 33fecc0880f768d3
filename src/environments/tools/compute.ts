import jsep from 'jsep';

/** An expression cannot be computed: the message is shown to whoever wrote it. */
export class ExpressionError extends Error {
  override readonly name = 'ExpressionError';
}

const LONGEST = 1_000; // characters; parsing and computing take time in proportion, and nesting cannot be deeper
const NAMES: Readonly<Record<string, number>> = { pi: Math.PI, e: Math.E };
const FUNCTIONS: Readonly<Record<string, (...numbers: number[]) => number>> = {
  abs: Math.abs,
  ceil: Math.ceil,
  cos: Math.cos,
  exp: Math.exp,
  floor: Math.floor,
  log: (x = Number.NaN, base = Math.E) => (base === Math.E ? Math.log(x) : Math.log(x) / Math.log(base)),
  log10: Math.log10,
  log2: Math.log2,
  max: Math.max,
  min: Math.min,
  pow: (x = Number.NaN, y = Number.NaN) => x ** y,
  round: (x = Number.NaN, digits = 0) => roundTo(x, digits),
  sin: Math.sin,
  sqrt: Math.sqrt,
  tan: Math.tan,
};

jsep.addBinaryOp('//', 10); // whole division
jsep.addBinaryOp('^', 11, true); // what models write for a power

/**
 * Computes an arithmetic expression: `+ - * / // % ** ^ ( )`, a few functions and constants, doubles throughout, signs and remainders as in Python
 * (`-2**2` is −4, `-7 % 3` is 2). It is parsed, and computed from the parsed tree: no text is ever executed. At most 1,000 characters.
 * @throws ExpressionError for what is none, has unknown names, or has no finite value.
 */
export function compute(expression: string): number {
  if (expression.length > LONGEST) throw new ExpressionError(`expression is longer than ${LONGEST} characters`);
  let parsed: jsep.Expression;
  try {
    parsed = jsep(withNamedGroups(expression));
  } catch (cause) {
    throw new ExpressionError(`invalid expression: ${(cause as Error).message}`, { cause }); // jsep throws nothing else
  }
  const value = evaluate(parsed);
  if (!Number.isFinite(value)) throw new ExpressionError('the result is no finite number');
  return value;
}

/** The parser forgets parentheses, which `-2**2` and `(-2)**2` differ by, so they are named here. */
function withNamedGroups(expression: string): string {
  return expression.replaceAll(/(?<![\p{L}\p{N}_)]\s*)\(/gu, 'group(');
}

function evaluate(node: jsep.Expression): number {
  const parsed = node as jsep.CoreExpression; // no plug-in adds kinds of nodes
  switch (parsed.type) {
    case 'Literal':
      if (typeof parsed.value !== 'number') throw new ExpressionError('invalid expression: only numbers can be computed with');
      return parsed.value;
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

function combine({ operator, left, right }: jsep.BinaryExpression): number {
  const power = operator === '**' || operator === '^';
  if (power && left.type === 'UnaryExpression') {
    const { operator: sign, argument } = left as jsep.UnaryExpression; // as its type says
    return signed(sign, evaluate(argument) ** evaluate(right));
  }
  const [a, b] = [evaluate(left), evaluate(right)];
  if (b === 0 && ['/', '//', '%'].includes(operator)) throw new ExpressionError('division by zero');
  switch (operator) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '//':
      return Math.floor(a / b);
    case '%':
      return a - b * Math.floor(a / b);
    case '**':
    case '^':
      return a ** b;
    default:
      throw new ExpressionError(`invalid expression: there is no operator ${operator}`);
  }
}

function signed(sign: string, value: number): number {
  if (sign !== '-' && sign !== '+') throw new ExpressionError(`invalid expression: there is no sign ${sign}`);
  return sign === '-' ? -value : value;
}

function lookUp<T>(known: Readonly<Record<string, T>>, name: string, what: string): T {
  const found = Object.hasOwn(known, name) ? known[name] : undefined;
  if (found === undefined) throw new ExpressionError(`there is no ${what} ${JSON.stringify(name)}`);
  return found;
}

function roundTo(x: number, digits: number): number {
  const scale = 10 ** digits;
  return Math.round(x * scale) / scale;
}
