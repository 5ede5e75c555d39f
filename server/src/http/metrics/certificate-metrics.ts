/** Metrics of the certificates of a node: when they expire, and whether changed files were taken. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Certificates } from '../../tls/certificates.js';

/** Registers them; with no certificates there are no series. */
export function certificateMetrics(certificates: readonly Certificates[], registry: Registry): void {
  const labelNames = ['certificate'] as const;
  const registers = [registry];
  new Gauge({
    name: 'isochron_certificate_expiry_timestamp_seconds',
    help: 'When the certificate in use expires, in Unix time.',
    labelNames,
    registers,
    collect() {
      for (const { use: certificate, current } of certificates) this.set({ certificate }, current.expiresAt / 1000);
    },
  });
  new Counter({
    name: 'isochron_certificate_reloads_total',
    help: 'Changed files of certificates that were taken into use.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { use: certificate, counts } of certificates) this.inc({ certificate }, counts.reloads);
    },
  });
  new Counter({
    name: 'isochron_certificate_reload_failures_total',
    help: 'Changed files of certificates that were refused; the former ones stayed in use.',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const { use: certificate, counts } of certificates) this.inc({ certificate }, counts.failures);
    },
  });
}
