import { setImmediate as nextTurn } from 'node:timers/promises';
import { ClientTurns } from './turns.js';

it('clients that take turns have a piece of their work done each, one in a turn of the event loop', async () => {
  const [turns, done]: [ClientTurns, string[]] = [new ClientTurns(), []];
  for (const piece of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) turns.take(piece[0]!, () => done.push(piece));
  const afterTurns: string[] = [];
  while (done.length < 6) {
    await nextTurn();
    afterTurns.push(done.join(' '));
  }
  expect(done).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  // No turn has had two pieces.
  expect(afterTurns.map((text) => text.split(' ').length)).toEqual([1, 2, 3, 4, 5, 6]);
});

it('work that a piece adds has its turn after that of the other clients', async () => {
  const [turns, done]: [ClientTurns, string[]] = [new ClientTurns(), []];
  turns.take('a', () => {
    done.push('a1');
    turns.take('a', () => done.push('a2'));
  });
  turns.take('b', () => done.push('b1'));
  while (done.length < 3) await nextTurn();
  expect(done).toEqual(['a1', 'b1', 'a2']);
});
