/** The channel between a node and the process that started it: `isochron dev`, or `isochron node` for several nodes. */

/** A message of a node to its parent before it ends. */
export interface FailureNotice {
  readonly type: 'failed';
  /** One line, `CODE: sentence`. */
  readonly line: string;
}

/** Whether a message from the channel is a notice. */
export const isFailureNotice = (message: unknown): message is FailureNotice =>
  typeof message === 'object' &&
  message !== null &&
  'type' in message &&
  message.type === 'failed' &&
  'line' in message &&
  typeof message.line === 'string';

/** Whether this process was started by a supervisor. */
export const isSupervised = (): boolean => process.send !== undefined;

/** Sends the reason why this process ends to the parent, if there is one. Resolves when it has been sent. */
export function notifyParent(line: string): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) return resolve();
    const notice: FailureNotice = { type: 'failed', line };
    process.send(notice, undefined, undefined, () => resolve());
  });
}
