import { describe, expect, test } from '@jest/globals';
import type { Goal, Product } from './product.ts';
import { rewardOf, typeFactor } from './reward.ts';

const path = ['a', 'b', 'c'];
const nouns = ['issue', 'sneakers', 'shoes', 'white'];
const product: Product = {
  asin: 'B000000000',
  title: '',
  nouns,
  query: 'query 1',
  category: 'fashion',
  path,
  features: [],
  description: '',
  attributes: ['tea tree', 'essential oil', 'natural ingredients'],
  price: 35,
  options: {},
};
const goal: Goal = {
  asin: 'B000000000',
  instruction: '',
  query: 'query 1',
  category: 'fashion',
  path,
  nouns,
  priceUpper: 40,
  attributes: ['tea tree', 'essential oils', 'natural ingredients'],
  options: [
    { name: 'color', value: 'grey' },
    { name: 'size', value: 'XL' },
  ],
};
const chosen = { color: 'grey', size: 'XL' };
const elsewhere = {
  ...product,
  attributes: [],
  features: ['This shampoo has essential oils'],
  description: 'made with natural ingredients',
};

// The numbers are those of WebShop's own tests, tests/web-agent-site/engine/test_goal.py.
describe('the reward of a purchase', () => {
  test('everything that was asked for is worth 1', () => {
    expect(rewardOf(product, goal, chosen)).toEqual({ total: 1, attributes: 3, options: 2, priceFits: true, type: 1 });
  });

  test('an attribute that the shop does not list counts where title, features or description name it', () => {
    expect(rewardOf(elsewhere, { ...goal, options: [] }, {}).attributes).toBe(2);
    expect(rewardOf({ ...elsewhere, title: 'Tea Tree Soap' }, { ...goal, options: [] }, {}).attributes).toBe(3);
  });

  test('what is lacking takes its share: an attribute, an option, the price', () => {
    const more = { ...goal, options: [...goal.options, { name: 'amount', value: 'pack of 12' }] };
    expect(rewardOf(elsewhere, more, chosen).total).toBeCloseTo(5 / 7, 10);
    expect(rewardOf({ ...elsewhere, price: 41 }, more, chosen).total).toBeCloseTo(4 / 7, 10);
    expect(rewardOf(product, goal, {}).total).toBeCloseTo(4 / 6, 10);
    expect(rewardOf(product, { ...goal, attributes: [], options: [] }, {}).total).toBe(1);
  });

  test('a product of another kind is worth half, a tenth or nothing, by the nouns of the titles', () => {
    const other = { query: 'query 2', path: ['a', 'd', 'e'] };
    const wanted = { ...goal, nouns: ['w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8', 'w9', 'w10', 'w11'] };
    expect(typeFactor({ ...other, nouns: ['w1', 'w2', 'w3'] }, wanted)).toBe(1);
    expect(typeFactor({ ...other, nouns: ['w1', 'w2'] }, wanted)).toBe(0.5);
    expect(typeFactor({ ...other, nouns: ['w1'] }, wanted)).toBe(0.1);
    expect(typeFactor({ ...other, nouns: ['x'] }, wanted)).toBe(0);
    expect(typeFactor({ ...other, nouns: ['x'] }, { ...goal, nouns: [] })).toBe(0.5);
    expect(rewardOf({ ...product, ...other, nouns: ['w1', 'w2'] }, wanted, chosen).total).toBe(0.5);
  });

  test('two shared categories are the same kind, whatever their order, and a repeated one counts once', () => {
    const wanted = { ...goal, query: 'query 2', nouns: ['w1', 'w2', 'w3', 'w4', 'w5', 'w6', 'w7', 'w8'] };
    const bought = { query: 'query 1', nouns: ['w1'] };
    expect(typeFactor({ ...bought, path: ['b', 'c', 'a'] }, wanted)).toBe(1);
    expect(typeFactor({ ...bought, path: ['a', 'a', 'd'] }, wanted)).toBe(0.5);
  });

  test('options are compared loosely: a colour by its first name, others by their words', () => {
    const wanted = (name: string, value: string) => ({ ...goal, options: [{ name, value }] });
    const matches = (value: string, want: Goal) => rewardOf(product, want, { any: value }).options;
    expect(matches('dark red', wanted('color', 'red'))).toBe(0); // "dark" is a name of a colour, and the first one there
    expect(matches('blue melange', wanted('color', 'blue'))).toBe(1);
    expect(matches('powder', wanted('style', 'cool powder'))).toBe(1);
    expect(matches('x-large', wanted('size', 'large'))).toBe(0);
  });
});
