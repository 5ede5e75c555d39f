import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_INTERVAL_MS = 40;
const REQUEST_TIMEOUT_MS = 2000;

/** Resolves once the node at this URL is ready to serve; rejects when the signal is aborted. */
export async function waitUntilReady(api: string, signal: AbortSignal): Promise<void> {
  while (!(await isReady(`${api}/readyz?exclude=links,stable-time`, signal)))
    await delay(POLL_INTERVAL_MS, undefined, { signal });
}

/** Whether the node reports that it is ready. A node that does not listen yet, or does not answer in time, is not. */
function isReady(url: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, timeout: REQUEST_TIMEOUT_MS, signal }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}
