import { Random } from '@isochron/core';
import { Link, type LinkPace } from './link.js';
import { VirtualTime } from './virtual-time.js';

const PACE: LinkPace = { delayMs: 10, jitter: 1, noticeMs: 50, reconnectMs: [5, 20], lateFrames: true };

class End {
  up = true;
  incarnation = 1;
  readonly events: string[] = [];
  readonly frames: number[] = [];

  constructor(readonly id: string) {}

  link(peer: string, up: boolean): void {
    this.events.push(`${peer} ${up ? 'up' : 'down'}`);
  }

  receive(_peer: string, frame: number): void {
    this.frames.push(frame);
    this.events.push(`${frame}`);
  }
}

function connected(seed: number, pace: Partial<LinkPace> = {}) {
  const time = new VirtualTime();
  const [a, b] = [new End('a'), new End('b')] as const;
  const link = new Link<number>(time, new Random(seed), { ...PACE, ...pace }, a, b);
  const run = (ms: number) => time.runUntil(time.now + ms, () => false);
  link.connectSoon();
  run(500);
  return { time, a, b, link, run };
}

const seeds = Array.from({ length: 50 }, (_, i) => i);

describe('a link', () => {
  it('a link reports to both ends that it is up before any frame arrives, and keeps the order of frames', () => {
    for (const seed of seeds) {
      const { a, b, link, run } = connected(seed);
      for (let i = 0; i < 20; i++) {
        link.send(a, i);
        run(1);
      }
      run(500);
      expect(b.events[0]).toBe('a up');
      expect(b.frames).toEqual(Array.from({ length: 20 }, (_, i) => i));
      expect(a.events).toEqual(['b up']);
    }
  });

  it('a link that drops loses the frames in flight from some frame on, and none in between', () => {
    let lost = 0;
    for (const seed of seeds) {
      const { a, b, link, run } = connected(seed);
      for (let i = 0; i < 20; i++) {
        link.send(a, i);
        if (i === 10) link.drop();
        run(1);
      }
      run(500);
      lost += 20 - b.frames.length;
      expect(b.frames).toEqual(b.frames.map((_, i) => i));
    }
    expect(lost).toBeGreaterThan(100);
  });

  it('both ends notice that a link is down before it comes up again', () => {
    for (const seed of seeds) {
      const { a, b, link, run } = connected(seed);
      link.drop();
      run(500);
      expect([a.events, b.events]).toEqual([
        ['b up', 'b down', 'b up'],
        ['a up', 'a down', 'a up'],
      ]);
    }
  });

  it('a link stays down while anything blocks it', () => {
    const { a, b, link, run } = connected(1);
    link.block();
    link.block();
    link.unblock();
    run(1_000);
    link.send(a, 1);
    run(500);
    expect(b.frames).toEqual([]);
    link.unblock();
    run(500);
    link.send(a, 2);
    run(500);
    expect(b.frames).toEqual([2]);
  });

  it('a link brings no frame of a previous connection to the successor of a dead process', () => {
    for (const seed of seeds) {
      const { a, b, link, run } = connected(seed);
      for (let i = 0; i < 10; i++) link.send(a, i);
      run(3);
      b.up = false;
      link.block();
      link.endDied(b);
      const before = b.frames.length;
      b.up = true;
      b.incarnation++;
      link.unblock();
      run(500);
      expect(b.frames).toHaveLength(before);
      expect(b.events.slice(-1)).toEqual(['a up']);
    }
  });

  it('a link does not reach a process without a connection, and takes nothing from it', () => {
    const { time, a, b, link, run } = connected(1, { reconnectMs: [100, 100] });
    link.drop();
    run(60);
    link.send(a, 1);
    expect(time.now).toBe(560);
    run(500);
    expect(b.frames).toEqual([]);
  });
});
