/** The certificates of one listener, which follow their files. */
import type { Logger } from 'pino';
import { watchFiles } from '../config/watched-files.js';
import {
  type CertificateChecks,
  type CertificateFiles,
  type CertificateSet,
  readCertificates,
} from './certificate-files.js';

/** The listener that certificates are for. */
export type CertificateUse = 'api' | 'peer';

export class Certificates {
  #current: CertificateSet;
  #failures = 0;
  #reloads = 0;
  readonly #listeners = new Set<(set: CertificateSet) => void>();
  #stop: () => void = () => undefined;

  /** @throws IsochronError `CERTIFICATE_INVALID` */
  constructor(
    readonly use: CertificateUse,
    readonly files: CertificateFiles,
    readonly checks: CertificateChecks,
    readonly logger: Pick<Logger, 'info' | 'error'>,
  ) {
    this.#current = readCertificates(files, checks);
  }

  get current(): CertificateSet {
    return this.#current;
  }

  /** How often changed files were refused, and taken, since the start. */
  get counts(): { readonly failures: number; readonly reloads: number } {
    return { failures: this.#failures, reloads: this.#reloads };
  }

  /** Calls `listener` with every later set; returns a function that ends it. */
  onChange(listener: (set: CertificateSet) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Follows the files from now on. */
  watch(intervalMs?: number): void {
    const { cert, key, ca } = this.files;
    this.#stop = watchFiles([cert, key, ...(ca === undefined ? [] : [ca])], () => this.reload(), intervalMs);
  }

  /** Reads the files again. Where they are refused, the present certificates stay in use. */
  reload(): void {
    const { use, logger } = this;
    try {
      this.#current = readCertificates(this.files, this.checks);
    } catch (err) {
      this.#failures++;
      logger.error({ err, certificate: use }, 'the changed certificates are refused; the former ones stay in use');
      return;
    }
    this.#reloads++;
    const expires = new Date(this.#current.expiresAt).toISOString();
    logger.info({ certificate: use, expires }, 'the certificates have changed: new connections use them');
    for (const listener of this.#listeners) listener(this.#current);
  }

  close(): void {
    this.#stop();
    this.#listeners.clear();
  }
}
