/**
 * Code that waits, without promises: a generator that yields the values that it waits for. Everything stays in the
 * order of the event queue, which the microtasks of promises would bypass.
 */

/** Something to wait for: calls back at most once, when it is there. */
export type Wait = (resume: (value: unknown) => void) => void;

/** Code that waits and returns a T in the end. */
export type Co<T> = Generator<Wait, T, unknown>;

/** Waits for a value that comes by a callback. */
export function* waitFor<T>(wait: (resume: (value: T) => void) => void): Co<T> {
  return (yield wait as Wait) as T;
}

/**
 * Runs a coroutine to its end. `alive` is called before each of its steps: when it returns false, the coroutine is
 * abandoned where it waits.
 */
export function run<T>(routine: Co<T>, alive: () => boolean, done: (result: T) => void): void {
  const step = (value: unknown): void => {
    if (!alive()) return;
    const next = routine.next(value);
    if (next.done === true) {
      done(next.value);
      return;
    }
    let resumed = false;
    next.value((result) => {
      if (resumed) return;
      resumed = true;
      step(result);
    });
  };
  step(undefined);
}
