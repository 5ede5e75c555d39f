/** HTTP load: autocannon, one instance for each server, all at once. Every answer is checked. */
import type { Request, Result } from 'autocannon';
import { answerJobs } from '../jobs.js';
import type { Load } from '../rounds.js';
import { checkAnswer, type Expected } from './answers.js';
import { type CannonRequest, fire } from './autocannon.js';
import type { ValueRule } from './values.js';

/** A request, and the expected contents of its answer. */
export interface CheckedRequest {
  readonly request: Request;
  readonly expected: Expected;
}

/** The requests of one server. */
export interface HttpTarget {
  readonly url: string;
  readonly requests: readonly CheckedRequest[];
}

export interface HttpJob {
  readonly targets: readonly HttpTarget[];
  /** Connections to each target, one request in flight on each. */
  readonly connections: number;
  /** The required status of every answer. */
  readonly status: number;
  readonly values: ValueRule;
  readonly durationMs: number;
}

answerJobs<HttpJob, Load>(async ({ targets, durationMs, connections, values, status }) => {
  const shots = ({ requests }: HttpTarget): CannonRequest[] =>
    requests.map(({ request, expected }) => ({
      request,
      status,
      answered: (body) => checkAnswer(values, expected, body),
    }));
  const results = await Promise.all(targets.map((target) => fire(target.url, shots(target), connections, durationMs)));
  const loads = results.map((result) => loadOf(result, status));
  // Each instance has its own clock: rates can be added, counts over different times cannot.
  const perMs = loads.reduce((sum, { operations, elapsedMs }) => sum + operations / elapsedMs, 0);
  const p50Ms = Math.max(...results.map(({ latency }) => latency.p50));
  const p99Ms = Math.max(...results.map(({ latency }) => latency.p99));
  return { operations: Math.round(perMs * durationMs), elapsedMs: durationMs, latency: { p50Ms, p99Ms } };
});

function loadOf(result: Result, status: number): Load {
  const operations = result.statusCodeStats?.[`${status}`]?.count ?? 0;
  const counts = Object.entries(result.statusCodeStats ?? {}).map(([code, { count }]) => `${count} × ${code}`);
  const unexpected = Object.keys(result.statusCodeStats ?? {}).some((code) => code !== String(status));
  if (result.errors > 0 || unexpected) {
    throw new Error(`${result.url}: ${result.errors} errors, answers: ${counts.join(', ')}; wanted ${status} only`);
  }
  return { operations, elapsedMs: result.duration * 1000 };
}
