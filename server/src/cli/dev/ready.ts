import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { get as getOverTls } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import type { PlannedNode } from './plan.js';

const POLL_INTERVAL_MS = 40;
const REQUEST_TIMEOUT_MS = 2000;

/** Resolves once the node is ready to serve; rejects when the signal is aborted. */
export async function waitUntilReady(
  { api, tls, ca: file }: Pick<PlannedNode, 'api' | 'tls' | 'ca'>,
  signal: AbortSignal,
): Promise<void> {
  const ca = tls.api ? readFileSync(file, 'utf8') : undefined;
  while (!(await isReady(`${api}/readyz?exclude=links,stable-time`, ca, signal)))
    await delay(POLL_INTERVAL_MS, undefined, { signal });
}

/** Whether the node reports that it is ready. A node that does not listen yet, or does not answer in time, is not. */
function isReady(url: string, ca: string | undefined, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const options = { agent: false, timeout: REQUEST_TIMEOUT_MS, signal } as const;
    const request = (ca === undefined ? get : getOverTls)(
      url,
      { ...options, ...(ca === undefined ? {} : { ca }) },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode === 200);
      },
    );
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}
