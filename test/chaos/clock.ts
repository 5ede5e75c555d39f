/**
 * Loaded into a node by `--import`: gives its wall clock an error, at the start from the environment and later from
 * messages over the channel. The product has no hook for it: `Date.now` is the only wall clock that it reads.
 */

/** The error of a clock: `offsetMs`, and `rate` ms for every ms since `sinceMs`, a reading of the right clock. */
export interface WrongClock {
  readonly offsetMs: number;
  readonly rate: number;
  readonly sinceMs: number;
}

/** The environment variable with the {@link WrongClock} of a node's start, as JSON. */
export const CLOCK_VARIABLE = 'CHAOS_CLOCK';

/** The error at a moment of the right clock, in ms. */
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
