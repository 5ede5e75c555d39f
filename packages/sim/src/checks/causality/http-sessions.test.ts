import type { Version } from '@isochron/core';
import { A, B, CheckBench } from '../fixtures.js';
import { HttpSessionsSeeTheirLineage } from './http-sessions.js';

const known = { ct: 5, txId: 't', value: '1' };
const shown = (ts: number, value: string | null): Version => ({ ts, txId: '', region: '', value });

function watched() {
  const bench = new CheckBench();
  bench.commit('t', 5, [{ key: A, value: '1' }]);
  return { bench, check: new HttpSessionsSeeTheirLineage(bench.context, bench.ledger) };
}

describe('http-sessions', () => {
  it('http-sessions accepts the versions that the lineage of a token has seen, and newer ones', () => {
    const { bench, check } = watched();
    check.httpRead('h0', 'r', A, shown(5, '1'), known);
    check.httpRead('h0', 'r', A, shown(6, '2'), known);
    check.httpRead('h0', 'r', B, null, undefined);
    expect(bench.failed).toEqual([]);
  });

  it.each([
    ['something older', shown(4, '0')],
    ['nothing', null],
  ])('http-sessions finds a read that shows %s', (_what, version) => {
    const { bench, check } = watched();
    check.httpRead('h0', 'r', A, version, known);
    expect(bench.failed).toHaveLength(1);
  });

  it('http-sessions accepts absence once the key was deleted, by the lineage or after it', () => {
    const { bench, check } = watched();
    bench.commit('d', 7, [{ key: A, value: null }]);
    check.httpRead('h0', 'r', A, null, known);
    check.httpRead('h0', 'r', A, null, { ct: 7, txId: 'd', value: null });
    expect(bench.failed).toEqual([]);
  });
});
