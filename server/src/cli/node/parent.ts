/** The channel between a node and the `isochron dev` that started it. */

/** What a node tells before it ends. */
export interface FailureNotice {
  readonly type: 'failed';
  /** One line, `CODE: sentence`. */
  readonly line: string;
}

/** Whether something that came over the channel is a notice. */
export const isFailureNotice = (message: unknown): message is FailureNotice =>
  typeof message === 'object' &&
  message !== null &&
  'type' in message &&
  message.type === 'failed' &&
  'line' in message &&
  typeof message.line === 'string';

/** Whether this process was started by another one that watches over it. */
export const isSupervised = (): boolean => process.send !== undefined;

/** Tells the parent, if there is one, why this process ends. Resolves when it has been told. */
export function tellParent(line: string): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) return resolve();
    const notice: FailureNotice = { type: 'failed', line };
    process.send(notice, undefined, undefined, () => resolve());
  });
}
