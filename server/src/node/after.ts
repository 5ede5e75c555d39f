import type { After } from '@isochron/sessions';

/** The timers of the process. */
export const after: After = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};
