/// <reference types="jest" />
/** Patches behind switches: a function has the body of its source until a switch is on. */
import { transformSync } from '@swc/core';
import { SWITCHES, switched } from './switches.js';

const SOURCE = `
const START = 1;
const twice = (x: number): number => x * 2;
class Counter {
  #count = START;
  constructor(readonly step: number) {
    this.#count += step;
  }
  add(n: number): number {
    const each = [n].map((one) => one + 1);
    this.#count += each[0]!;
    return this.#count;
  }
}
`;

const patch = (part: string, find: string, replace: string) => ({ file: 'a.ts', in: part, find, replace });

/** Runs the source with switches. The result of `use` and the numbers that ran, with the given switches on. */
function running(switches: Parameters<typeof switched>[1]) {
  const { text, numbers } = switched(SOURCE, switches);
  const { code } = transformSync(text, { jsc: { target: 'es2022', parser: { syntax: 'typescript' } } });
  const state = { on: new Uint8Array(9), ran: new Uint8Array(9) };
  const make = new Function(SWITCHES, `${code}; return { twice, Counter };`);
  const { twice, Counter } = make(state) as {
    twice: (x: number) => number;
    Counter: new (step: number) => { add: (n: number) => number };
  };
  const use = (...on: number[]) => {
    state.on.fill(0);
    state.ran.fill(0);
    for (const number of on) state.on[number] = 1;
    return { result: [twice(5), new Counter(10).add(100)], ran: [...state.ran.keys()].filter((i) => state.ran[i]) };
  };
  return { use, numbers };
}

const TWICE = { number: 1, patches: [patch('twice', 'x * 2', 'x * 3')] };
const ADD = { number: 2, patches: [patch('Counter.add', 'return this.#count', 'return -1')] };
const EACH = { number: 3, patches: [patch('Counter.add', 'one + 1', 'one + 2')] };
const BOTH = { number: 4, patches: [...EACH.patches, patch('Counter.add', '+= each[0]!', '-= each[0]!')] };
const MADE = { number: 5, patches: [patch('Counter.constructor', '+= step', '-= step')] };

describe('switches', () => {
  it('without a switch the code is that of the source', () => {
    const { use, numbers } = running([TWICE, ADD, EACH, BOTH, MADE]);
    expect(numbers).toEqual([1, 2, 3, 4, 5]);
    expect(use()).toEqual({ result: [10, 112], ran: [] });
  });

  it.each([
    ['the expression of an arrow function', [1], [15, 112]],
    ['the body of a method', [2], [10, -1]],
    ['a function inside of a method', [3], [10, 113]],
    ['a method and a function inside of it', [4], [10, -91]],
    ['a constructor', [5], [10, 92]],
    ['two switches at a time', [1, 5], [15, 92]],
  ])('a switch replaces %s, and shows that its code ran', (_name, on, result) => {
    const { use } = running([TWICE, ADD, EACH, BOTH, MADE]);
    expect(use(...on)).toEqual({ result, ran: on });
    expect(use()).toEqual({ result: [10, 112], ran: [] });
  });

  it('a patch outside of all functions has no switch', () => {
    expect(running([TWICE, { number: 2, patches: [patch('START', '1', '2')] }]).numbers).toEqual([1]);
  });

  it('a patch whose place does not occur once is refused', () => {
    expect(() => switched(SOURCE, [{ number: 1, patches: [patch('twice', 'x * 4', 'x')] }])).toThrow('not one');
  });
});
