/**
 * Puts methods and fields over those of an object that stays as it is: what is not named goes to it, with itself as `this`, so
 * that objects of classes with private fields work as well.
 */
export function overlay<T extends object, Over extends Partial<T>>(target: T, over: Over): T {
  return new Proxy(target, {
    get(own, key) {
      if (Object.hasOwn(over, key)) return Reflect.get(over, key);
      const value: unknown = Reflect.get(own, key, own);
      return typeof value === 'function' ? value.bind(own) : value;
    },
    has: (own, key) => Object.hasOwn(over, key) || Reflect.has(own, key),
  });
}
