/** Abort signals, also on platforms that give no reason, such as React Native. */

/** The reason of an aborted signal. */
export const reasonOf = ({ reason }: AbortSignal): unknown =>
  reason ?? Object.assign(new Error('the call was aborted'), { name: 'AbortError' });

/** Throws the reason of a signal that has fired. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw reasonOf(signal);
}
