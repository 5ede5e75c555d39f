import type { Timestamp } from '@isochron/core/ids';
import { World } from '@isochron/testing/client/world';
import { memoryNodes } from '@isochron/testing/nodes/memory-node';
import { readChanges } from './changes.js';

describe('the change feed', () => {
  /** A client of a node that answers `changes` by a script. */
  function feed() {
    const [node] = memoryNodes('east');
    const world = new World([node]);
    world.ask({ f: 'connect' });
    const answers: object[] = [];
    node.script = (frame) => {
      const answer = answers[0];
      if (frame.type !== 'changes' || answer === undefined) return undefined;
      return { type: 'changes', id: frame.id, ...answer } as never;
    };
    const ask = (after: Timestamp | null) =>
      world.call({ f: 'changes', read: readChanges, scope: 'default/', after, waitMs: 500 });
    return { world, node, answers, ask };
  }

  it('a page has its transactions, and goes on at another connection with the remaining time (CF2)', () => {
    const { world, node, answers, ask } = feed();
    const serve = node.script;
    const page = { from: 7, to: 9, transactions: [{ tx: 't', ts: 8, writes: [{ key: 'default/a', value: null }] }] };
    answers.push(page);
    node.script = () => 'drop';
    const called = ask(7);
    world.run(100);
    node.script = serve;
    world.cut(node);
    world.run(500);
    expect(called.value).toEqual(page);
    const waits = node.received('changes').map(({ waitMs }) => waitMs);
    expect(waits[0]).toBe(500);
    expect(waits[1]).toBeLessThan(450);
  });

  it('a page that was not asked for, or is out of order, is refused (D12)', () => {
    const write = { key: 'default/a', value: '1' };
    for (const page of [
      { from: 6, to: 9, transactions: [] },
      { from: 7, to: 5, transactions: [] },
      { from: 7, to: 9, transactions: [{ tx: 't', ts: 10, writes: [write] }] },
      { from: 7, to: 9, transactions: [9, 8].map((ts) => ({ tx: 't', ts, writes: [write] })) },
    ]) {
      const { world, answers, ask } = feed();
      answers.push(page);
      const called = ask(7);
      world.run(5000);
      expect([called.settled, called.value]).toEqual([1, undefined]);
    }
  });

  it('a request without an answer ends after its wait and the request timeout', () => {
    const { world, node, ask } = feed();
    node.script = (frame) => (frame.type === 'changes' ? 'drop' : undefined);
    const called = ask(7);
    world.run(1400);
    expect(called.settled).toBe(0);
    world.run(200);
    expect(called.reason?.code).toBe('CONNECTION_LOST');
  });
});
