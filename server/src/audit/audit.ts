/**
 * The audit log: what operators do, whole; refused credentials and permissions, sampled. A line names the principal,
 * the address, the route or the type of frame, and the refusal: never credentials or documents.
 */
import type { Principal } from '@isochron/core';
import type { Refused } from '@isochron/sessions';
import { type Logger, pino } from 'pino';
import { DEFAULT_SAMPLE_BOUNDS, type SampleBounds, Sampler } from './sampler.js';

/** The window of the sampled lines, ms. */
const WINDOW_MS = 1_000;
/** Longest description of what an operator asked for, in characters. */
const MAX_ASKED_LENGTH = 1_000;

/** An action of an operator that has ended. */
export interface Operated {
  readonly principal: Principal;
  readonly address: string;
  /** The route. */
  readonly request: string;
  /** HTTP status of its answer. */
  readonly status: number;
  /** The body of the request, as data: ids, no documents. */
  readonly asked?: unknown;
}

/** Takes the lines of an audit log. */
export type AuditLog = Pick<Logger, 'info' | 'warn'>;

export class Audit {
  #sampler: Sampler;
  #timer: NodeJS.Timeout | undefined;
  #refusals = { UNAUTHENTICATED: 0, PERMISSION_DENIED: 0 };

  constructor(
    readonly log: AuditLog,
    readonly bounds: SampleBounds = DEFAULT_SAMPLE_BOUNDS,
  ) {
    this.#sampler = new Sampler(bounds);
  }

  /** How many requests were refused, by code, since the start. */
  get counts(): Readonly<Record<'UNAUTHENTICATED' | 'PERMISSION_DENIED', number>> {
    return this.#refusals;
  }

  operated({ principal, address, request, status, asked }: Operated): void {
    const text = asked === undefined ? undefined : JSON.stringify(asked).slice(0, MAX_ASKED_LENGTH);
    this.log.info({ audit: 'operated', principal: principal.id, address, request, status, asked: text }, 'operated');
  }

  /** A request that was refused for its credentials or its permissions; others are not for this log. */
  refused({ error: { code, message }, principal, address, request }: Refused): void {
    if (code !== 'UNAUTHENTICATED' && code !== 'PERMISSION_DENIED') return;
    this.#refusals[code]++;
    this.#timer ??= setTimeout(() => this.#endWindow(), WINDOW_MS).unref();
    if (!this.#sampler.take(principal?.id ?? address)) return;
    const fields = { audit: 'refused', code, principal: principal?.id ?? null, address, request, detail: message };
    this.log.warn(fields, 'refused');
  }

  /** Writes what is left out so far. */
  close(): void {
    clearTimeout(this.#timer);
    this.#endWindow();
  }

  #endWindow(): void {
    const leftOut = this.#sampler.leftOut();
    this.#sampler = new Sampler(this.bounds);
    this.#timer = undefined;
    for (const [holder, count] of leftOut) this.log.warn({ audit: 'left out', holder, leftOut: count }, 'left out');
  }
}

/** A log in a file of its own, for its user alone. @param failed called when a line cannot be written */
export function auditFile(path: string, node: string, failed: (error: unknown) => void): AuditLog {
  const destination = pino.destination({ dest: path, sync: true, mode: 0o600 });
  destination.on('error', failed);
  return pino({ base: { name: node } }, destination);
}
