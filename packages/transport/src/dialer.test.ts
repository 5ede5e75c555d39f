import { ManualTime } from '@isochron/testing/transport/manual-time';
import { Dialer } from './dialer.js';
import { DEFAULT_TUNING } from './options.js';

describe('Dialer', () => {
  const tuning = { ...DEFAULT_TUNING, backoffBaseMs: 100, backoffCapMs: 2_000, refusedRetryMs: 10_000 };
  /** A dialer whose random numbers are all `random`, and the times of its dials. */
  const setUp = (random: number) => {
    const time = new ManualTime();
    const dials: number[] = [];
    const dialer = new Dialer(
      () => dials.push(time.now()),
      tuning,
      () => random,
      time,
    );
    dialer.start();
    time.advance(0);
    return { time, dials, dialer };
  };
  const waits = (random: number, code: string, times: number): number[] => {
    const { time, dials, dialer } = setUp(random);
    for (let i = 0; i < times; i++) {
      dialer.ended(code);
      time.advance(60_000);
    }
    return dials.slice(1).map((at, i) => at - i * 60_000);
  };

  it('Dialer dials at once', () => {
    expect(setUp(0.5).dials).toEqual([0]);
  });

  it('Dialer waits up to twice as long after each failure, up to the cap', () => {
    expect(waits(0.5, 'ECONNREFUSED', 7)).toEqual([50, 100, 200, 400, 800, 1_000, 1_000]);
  });

  it('Dialer spreads its attempts over the whole of the waiting time (full jitter)', () => {
    expect(waits(0, 'ECONNREFUSED', 3)).toEqual([0, 0, 0]);
    expect(waits(0.99, 'ECONNREFUSED', 3)).toEqual([99, 198, 396]);
  });

  it.each(['PEER_REFUSED', 'PEER_CONFIG_MISMATCH', 'PEER_VERSION_MISMATCH'])(
    'Dialer retries slowly after %s',
    (code) => {
      expect(waits(0, code, 2)).toEqual([5_000, 5_000]);
    },
  );

  it('Dialer starts over with short waits after a link that lasted, not after one that only came up', () => {
    const { time, dials, dialer } = setUp(0.5);
    const fail = (afterMs: number): number => {
      dialer.connected();
      time.advance(afterMs);
      const failedAt = time.now();
      dialer.ended('CONNECTION_LOST');
      time.advance(60_000);
      return dials.at(-1)! - failedAt;
    };
    expect([fail(10), fail(10), fail(2_000)]).toEqual([50, 100, 50]);
  });

  it('Dialer does not dial after a connection that another one has replaced', () => {
    const { time, dials, dialer } = setUp(0.5);
    dialer.renew();
    dialer.ended('LINK_REPLACED');
    time.advance(60_000);
    expect(dials).toEqual([0, 0]);
  });

  it('Dialer dials again once two connections have replaced each other', () => {
    const { time, dials, dialer } = setUp(0.5);
    dialer.renew();
    dialer.ended('LINK_REPLACED');
    dialer.ended('LINK_REPLACED');
    time.advance(60_000);
    expect(dials).toEqual([0, 0, 50]);
  });

  it('Dialer dials once after two connections have ended', () => {
    const { time, dials, dialer } = setUp(0.5);
    dialer.renew();
    dialer.ended('CONNECTION_LOST');
    dialer.ended('CONNECTION_LOST');
    time.advance(60_000);
    expect(dials).toEqual([0, 0, 100]);
  });

  it('Dialer dials no more after stop', () => {
    const { time, dials, dialer } = setUp(0.5);
    dialer.ended('CONNECTION_LOST');
    dialer.stop();
    dialer.ended('CONNECTION_LOST');
    time.advance(60_000);
    expect(dials).toEqual([0]);
  });
});
