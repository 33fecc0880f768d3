import { pythonStrip } from '../../domain/text/python-strip.ts';
import { compute, ExpressionError } from './compute.ts';
import type { Tool } from './tool.ts';

/**
 * Computes arithmetic expressions. It answers JSON, `{"result": …}` or `{"error": …}`, and pays as Agent-R1's calculator of March
 * 2025 does: min(0.5, 0.4 + min(0.1, 0.02·(k + 1))) for k of the characters `+-*\/()`, nothing for an empty expression. That one
 * meant to pay 0.05 for an expression that fails, by looking for a prefix its errors never have; `as-published` pays those in
 * full too, `sound` (the default) pays them the 0.05.
 */
export function calculator(mode: 'sound' | 'as-published' = 'sound'): Tool {
  return {
    name: 'calculator',
    description: 'Computes an arithmetic expression, for example (12 + 30) * 2 or sqrt(2) ** 3.',
    parameters: {
      type: 'object',
      properties: { expression: { type: 'string', description: 'The expression to compute' } },
      required: ['expression'],
    },
    fingerprint: `calculator ${mode} 3`, // 3: doubles divide as in JavaScript
    execute: ({ expression }) => {
      try {
        const value = compute(String(expression));
        return `{"result": ${typeof value === 'bigint' ? value : JSON.stringify(value)}}`;
      } catch (error) {
        if (!(error instanceof ExpressionError)) throw error;
        return { content: `{"error": ${JSON.stringify(error.message)}}`, success: false };
      }
    },
    reward: ({ expression }, output) => {
      const text = String(expression);
      if (pythonStrip(text) === '') return 0;
      return mode === 'sound' && output.startsWith('{"error"') ? 0.05 : calculatorReward(text);
    },
  };
}

/** Returns the published reward of an expression, whether or not it could be computed; 0 for one without a character. */
export function calculatorReward(expression: string): number {
  if (pythonStrip(expression) === '') return 0;
  const operators = expression.match(/[+\-*/()]/g)?.length ?? 0;
  return Math.min(0.5, 0.4 + Math.min(0.1, 0.02 * (operators + 1)));
}
