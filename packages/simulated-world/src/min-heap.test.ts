import { Random } from '@isochron/core';
import { MinHeap } from './min-heap.js';

describe('MinHeap', () => {
  it('a min-heap gives the least item first, whatever comes and goes', () => {
    const random = new Random(5);
    const queue = new MinHeap<{ n: number }>((a, b) => a.n < b.n);
    const model: number[] = [];
    for (let i = 0; i < 3_000; i++) {
      if (model.length === 0 || random.chance(0.55)) {
        const n = random.below(1_000);
        queue.push({ n });
        model.push(n);
        model.sort((a, b) => a - b);
      } else {
        expect(queue.peek()?.n).toBe(model[0]);
        expect(queue.pop()?.n).toBe(model.shift());
      }
    }
    while (model.length > 0) expect(queue.pop()?.n).toBe(model.shift());
    expect(queue.pop()).toBeUndefined();
  });
});
