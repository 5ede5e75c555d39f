import type { SupervisedNode } from './child.js';
import type { Supervisor } from './supervisor.js';

/**
 * The first of these signals, or the end of a parent's channel, closes all nodes in order. The second signal ends them.
 *
 * @param onStop called with the first signal
 */
export function stopOnSignals<N extends SupervisedNode>(
  supervisor: Supervisor<N>,
  signals: readonly NodeJS.Signals[],
  onStop: () => void,
): { readonly requested: boolean } {
  const state = { requested: false };
  const onSignal = (): void => {
    if (state.requested) {
      supervisor.signal('SIGKILL');
      return;
    }
    state.requested = true;
    onStop();
    void supervisor.stop();
  };
  for (const signal of signals) process.on(signal, onSignal);
  if (process.connected) {
    process.once('disconnect', () => {
      if (!state.requested) onSignal();
    });
    // Once all nodes have ended, an open channel must not keep the process alive.
    process.channel?.unref();
  }
  return state;
}
