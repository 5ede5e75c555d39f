/** `isochron status`. */
import { setTimeout as delay } from 'node:timers/promises';
import type { EndpointOptions } from '../data/client.js';
import { print } from '../output.js';
import { collect } from './collect.js';
import { renderStatus } from './table.js';

/** Options of `isochron status`. */
export interface StatusOptions extends EndpointOptions {
  readonly partitions: boolean;
  /** Seconds between two updates; true for the default. */
  readonly watch?: number | true;
  readonly json: boolean;
}

const WATCH_INTERVAL_S = 1;

/** Prints the status once, or repeatedly until it is interrupted. */
export async function runStatus(options: StatusOptions): Promise<void> {
  if (options.watch === undefined) return print(await statusText(options));
  const intervalMs = (options.watch === true ? WATCH_INTERVAL_S : options.watch) * 1000;
  for (;;) {
    const text = await statusText(options);
    // Cursor home, the text, then clear the rest: clearing first would flicker.
    print(process.stdout.isTTY && !options.json ? `\x1b[H\x1b[J${text}` : text);
    await delay(intervalMs);
  }
}

async function statusText(options: StatusOptions): Promise<string> {
  const report = await collect(options);
  return options.json ? JSON.stringify(report) : renderStatus(report, options);
}
