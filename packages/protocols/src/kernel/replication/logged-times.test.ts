import { HLC_TICKS_PER_MS, type Timestamp } from '@isochron/core';
import { LoggedTimes } from './logged-times.js';
import { SendingEnd } from './replication-stream.js';

const S = 1000 * HLC_TICKS_PER_MS;

/** A peer that follows the stream, with the incarnation of its disk. */
function following(incarnation: Timestamp) {
  const stream = new SendingEnd();
  stream.live(0, true);
  return { stream, incarnation };
}

describe('where a log may be truncated', () => {
  it('a log may be truncated at the last group once the stable time has reached it', () => {
    const logged = new LoggedTimes(0);
    logged.add(S);
    expect(logged.truncate([following(0)], S - 1)).toBe(0);
    expect(logged.truncate([following(0)], S)).toBe(S);
  });

  it('a log may not be truncated before the stable time has reached the loss of every peer (D10)', () => {
    const logged = new LoggedTimes(0);
    logged.add(S);
    logged.add(2 * S);
    const peers = [following(0), following(3 * S)];
    expect([S, 2 * S, 3 * S - 1].map((stable) => logged.truncate(peers, stable))).toEqual([0, 0, 0]);
    expect(logged.truncate(peers, 3 * S)).toBe(2 * S);
  });

  it('a log may not be truncated while a peer has not asked for the stream: it may have lost its disk (D10)', () => {
    const logged = new LoggedTimes(S);
    expect(logged.truncate([following(0), { stream: new SendingEnd(), incarnation: 0 }], S)).toBe(0);
    expect(logged.truncate([following(0)], S)).toBe(S);
  });
});

describe('what a peer has confirmed', () => {
  it('a peer has confirmed the last group at or below the stable time, also if the log is not truncated yet', () => {
    const logged = new LoggedTimes(0);
    for (const ct of [S, 2 * S, 3 * S]) logged.add(ct);
    expect([S - 1, S, 3 * S - 1, 3 * S].map((stable) => logged.confirmedBy({ incarnation: 0 }, stable))).toEqual([
      0,
      S,
      2 * S,
      3 * S,
    ]);
  });

  it('a peer has confirmed nothing until the stable time counts its new disk (D10)', () => {
    const logged = new LoggedTimes(S);
    expect([2 * S - 1, 2 * S].map((stable) => logged.confirmedBy({ incarnation: 2 * S }, stable))).toEqual([0, S]);
  });
});
