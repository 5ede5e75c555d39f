/** Waiting for a condition, not for a fixed time. */
import { setTimeout as delay } from 'node:timers/promises';

const POLL_INTERVAL_MS = 20;

export interface UntilOptions {
  /** Default 20 s. */
  readonly timeoutMs?: number;
  /** An addition to the message at the deadline. */
  readonly explain?: () => string;
}

/**
 * Asks until the answer is neither false nor undefined, and returns it. An error of `ask` counts as _not yet_.
 * @param what the condition, for the error message at the deadline
 */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  { timeoutMs = 20_000, explain }: UntilOptions = {},
): Promise<Exclude<T, false | undefined>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { answer, error } = await attempt(ask);
    if (isThere(answer)) return answer;
    if (performance.now() > deadline) {
      const details = [`after ${timeoutMs} ms still waiting: ${what}`, explain?.()].filter(Boolean).join('\n');
      throw new Error(details, { cause: error });
    }
    await delay(POLL_INTERVAL_MS);
  }
}

const isThere = <T>(answer: T | undefined): answer is Exclude<T, false | undefined> =>
  answer !== undefined && answer !== false;

async function attempt<T>(ask: () => T | Promise<T>): Promise<{ answer: T | undefined; error?: unknown }> {
  try {
    return { answer: await ask() };
  } catch (error) {
    return { answer: undefined, error };
  }
}

/** Rejects when a promise takes longer than this. @param explain an addition to the message */
export async function within<T>(
  what: string,
  timeoutMs: number,
  promise: Promise<T>,
  explain: () => string = () => '',
): Promise<T> {
  const controller = new AbortController();
  const late = delay(timeoutMs, undefined, { signal: controller.signal }).then(() => {
    throw new Error([`${what} took more than ${timeoutMs} ms`, explain()].filter(Boolean).join('\n'));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    controller.abort();
    late.catch(() => undefined);
  }
}
