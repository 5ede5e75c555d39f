/** Messages that no node should send. */
import type { Random } from '@isochron/core';
import type { ServerFrame } from '@isochron/wire/session-frames';

/** The text that is sent in place of an answer. */
export function damaged(random: Random, answer: ServerFrame & { readonly id?: number | null }): string {
  const { id } = answer;
  const change = (changes: object): string => JSON.stringify({ ...answer, ...changes });
  return random.pick([
    () => 'not JSON',
    () => '[]',
    () => '[1]',
    () => '{"type":"unknown","id":1}',
    () => change({ type: 'pong' }),
    () => change({ type: 'aborted' }),
    () => change({ id: -1 }),
    () => change({ id: 1_000_000 }),
    () => change({ ts: -1, snapshot: 0.5, ust: 'x', status: 'x' }),
    () => change({ values: [] }),
    () => change({ values: [[1, { bytes: '!' }]], entries: [['a']] }),
    () => change({ next: '' }),
    () => change({ token: 1 }),
    () => JSON.stringify({ type: 'error', id, code: 'FROM_THE_FUTURE', detail: 'x', retryable: random.chance(0.5) }),
    () => JSON.stringify({ type: 'error', code: 'OVERLOADED', detail: 'x', retryable: true }),
    () => JSON.stringify([answer, answer]),
    () => JSON.stringify({ type: 'welcome' }),
  ])();
}
