/** The access rules of a node, which follow their file. */
import { readFileSync } from 'node:fs';
import { IsochronError, type Principal } from '@isochron/core';
import type { AccessRules, Policy } from '@isochron/sessions';
import type { Logger } from 'pino';
import { canonicalHash } from '../config/canonical.js';
import { watchFiles } from '../config/watched-files.js';
import { parseRulesFile } from './rules-file.js';

/** Counts of a node's rules, for its metrics. */
export interface RulesCounts {
  /** Rules in use. */
  readonly rules: number;
  /** How often changed files were refused, and taken, since the start. */
  readonly failures: number;
  readonly reloads: number;
  /** Operations that were refused, and those among them whose condition would have cost too much. */
  readonly refusals: number;
  readonly faults: number;
}

/** At most one line of the log in this time is about conditions that cost too much, ms. */
const MS_BETWEEN_FAULTS = 10_000;

export class FollowedRules implements AccessRules {
  #policy: Policy;
  #hash = '';
  readonly #listeners = new Set<() => void>();
  #failures = 0;
  #reloads = 0;
  #refusals = 0;
  #faults = 0;
  #lastFaultMs = Number.NEGATIVE_INFINITY;
  #stop: () => void = () => undefined;

  /**
   * @param refusal called with every refusal, for the audit
   * @throws IsochronError `CONFIG_INVALID`, with `file:line` and the reason
   */
  constructor(
    readonly file: string,
    readonly keyspaces: readonly string[],
    readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>,
    readonly refusal: (principal: Principal, error: IsochronError) => void = () => undefined,
  ) {
    this.#policy = this.#read();
  }

  get policy(): Policy {
    return this.#policy;
  }

  /** Of the rules alone: their documents and cases may differ. */
  get hash(): string {
    return this.#hash;
  }

  /** Calls `listener` after every change of the rules. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  get counts(): RulesCounts {
    const rules = this.#policy.names.length;
    return { rules, failures: this.#failures, reloads: this.#reloads, refusals: this.#refusals, faults: this.#faults };
  }

  refused(principal: Principal, error: IsochronError): void {
    this.#refusals++;
    if (error.cause !== undefined) this.#fault(error);
    this.refusal(principal, error);
  }

  /** Follows the file from now on. */
  watch(intervalMs?: number): void {
    this.#stop = watchFiles([this.file], () => this.reload(), intervalMs);
  }

  /** Reads the file again. Where it is refused, the present rules stay in use. */
  reload(): void {
    try {
      this.#policy = this.#read();
    } catch (err) {
      this.#failures++;
      this.logger.error({ err }, 'the changed access rules are refused; the former ones stay in use');
      return;
    }
    this.#reloads++;
    this.logger.info({ rules: this.#policy.names.length }, 'the access rules have changed');
    for (const listener of this.#listeners) listener();
  }

  close(): void {
    this.#stop();
    this.#listeners.clear();
  }

  #fault(err: IsochronError): void {
    this.#faults++;
    if (performance.now() - this.#lastFaultMs < MS_BETWEEN_FAULTS) return;
    this.#lastFaultMs = performance.now();
    this.logger.warn({ err }, 'a condition of an access rule may not read what it asks for');
  }

  #read(): Policy {
    let text: string;
    try {
      text = readFileSync(this.file, 'utf8');
    } catch (cause) {
      const detail = `The access rules cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
      throw new IsochronError('CONFIG_INVALID', detail, { cause });
    }
    const { file, policy } = parseRulesFile(text, this.file, this.keyspaces);
    this.#hash = canonicalHash(file.rules);
    return policy;
  }
}
