/**
 * Loaded into a node by `--import`: its wall clock is wrong by as much as it is told, at its start by the environment and later over the
 * channel. Nothing in the product knows of it: `Date.now` is the only wall clock that it reads.
 */

/** How a clock is wrong: by `offsetMs`, and by `rate` ms more for every ms since `sinceMs`, a reading of the right clock. */
export interface WrongClock {
  readonly offsetMs: number;
  readonly rate: number;
  readonly sinceMs: number;
}

/** The environment variable with the {@link WrongClock} of a node's start, as JSON. */
export const CLOCK_VARIABLE = 'CHAOS_CLOCK';

/** What it is off by at a moment of the right clock, in ms. */
export const errorOf = ({ offsetMs, rate, sinceMs }: WrongClock, nowMs: number): number =>
  offsetMs + rate * (nowMs - sinceMs);

const isWrongClock = (message: unknown): message is WrongClock =>
  typeof message === 'object' && message !== null && 'offsetMs' in message && 'rate' in message && 'sinceMs' in message;

const given = process.env[CLOCK_VARIABLE];
if (given !== undefined) install(JSON.parse(given) as WrongClock);

function install(first: WrongClock): void {
  const right = Date.now;
  let clock = first;
  Date.now = () => {
    const nowMs = right();
    return Math.floor(nowMs + errorOf(clock, nowMs));
  };
  process.on('message', (message: unknown) => {
    if (isWrongClock(message)) clock = message;
  });
}
