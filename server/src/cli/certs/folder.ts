/**
 * A folder of certificates: the authority, and for each node a folder to take to its machine. Keys are for this user
 * only, and no file is overwritten unless it is renewed.
 *
 * - `ca.pem`, `ca-key.pem`: the authority. While one replaces the other, `ca.pem` has both, the new one first
 * - `NODE/api.pem`, `NODE/api-key.pem`, `NODE/peer.pem`, `NODE/peer-key.pem`, and a copy of `ca.pem`
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ReportedFailure } from '../failures.js';
import { makeFolder, replaceFile } from '../files.js';
import { Authority, type KeyPair, requestOf, type Validity, validFor } from './authority.js';
import type { PlannedCertificate } from './plan.js';

/** How long the authority is valid, days: ten years. */
export const AUTHORITY_DAYS = 3650;
const SECRET = 0o600;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n?/g;

export class CertificateFolder {
  constructor(readonly path: string) {}

  get authorityFile(): string {
    return join(this.path, 'ca.pem');
  }

  /** The files of a certificate. */
  filesOf(name: string): { readonly cert: string; readonly key: string } {
    return { cert: join(this.path, `${name}.pem`), key: join(this.path, `${name}-key.pem`) };
  }

  /** Whether the authority is here. */
  get hasAuthority(): boolean {
    return existsSync(this.authorityFile) || existsSync(this.#authorityKey);
  }

  /** Certificates of this folder, by their names. */
  get names(): string[] {
    if (!existsSync(this.path)) return [];
    return readdirSync(this.path, { recursive: true, encoding: 'utf8' })
      .flatMap((file) => /^(.+)-key\.pem$/.exec(file)?.[1]?.replaceAll('\\', '/') ?? [])
      .filter((name) => name !== 'ca' && existsSync(this.filesOf(name).cert))
      .sort();
  }

  /** Makes an authority where there is none. @param cluster is part of its name */
  async ensureAuthority(cluster: string): Promise<void> {
    if (this.hasAuthority) return;
    await this.#makeAuthority(`Isochron CA of ${cluster}`, []);
  }

  /** Issues the planned certificates that are not here yet. Returns their names. */
  async issueMissing(planned: readonly PlannedCertificate[], days: number): Promise<string[]> {
    const missing = planned.filter(({ name }) => {
      const { cert, key } = this.filesOf(name);
      return !existsSync(cert) && !existsSync(key);
    });
    const authority = await this.#loadAuthority();
    for (const one of missing) await this.#issue(authority, one, validFor(days));
    this.#spreadAuthority();
    return missing.map(({ name }) => name);
  }

  /** Issues the planned certificates that are missing, are for other names, or end within `leastDays`. */
  async refresh(planned: readonly PlannedCertificate[], days: number, leastDays: number): Promise<void> {
    const authority = await this.#loadAuthority();
    for (const one of planned) if (!this.#isCurrent(one, leastDays)) await this.#issue(authority, one, validFor(days));
    this.#spreadAuthority();
  }

  #isCurrent({ name, request }: PlannedCertificate, leastDays: number): boolean {
    const { cert, key } = this.filesOf(name);
    if (!existsSync(cert) || !existsSync(key)) return false;
    const pem = readFileSync(cert, 'utf8');
    const endsAt = Date.parse(new X509Certificate(pem).validTo);
    return isDeepStrictEqual(requestOf(pem), request) && endsAt > validFor(leastDays).to;
  }

  /** Replaces certificates, for the same names and with new keys. Returns their names. */
  async renew(days: number, names: readonly string[] = this.names): Promise<string[]> {
    if (names.length === 0) throw failure(`${this.path} has no certificates: isochron certs create makes some`);
    const authority = await this.#loadAuthority();
    for (const name of names) {
      const request = requestOf(readFileSync(this.filesOf(name).cert, 'utf8'));
      await this.#issue(authority, { name, request }, validFor(days));
    }
    return [...names];
  }

  /** Issues one certificate, over the files of its name. */
  async replace(planned: PlannedCertificate, validity: Validity): Promise<void> {
    await this.#issue(await this.#loadAuthority(), planned, validity);
  }

  /** A new authority issues from now on; the former one is accepted, too, until it is dropped. */
  async newAuthority(): Promise<void> {
    const former = this.#authorities();
    if (former.length > 1) {
      throw failure(
        `${this.authorityFile} has two authorities already: renew all certificates, then drop the former one`,
      );
    }
    const { subject } = new X509Certificate(former[0]!);
    await this.#makeAuthority(/^CN=(.*) [0-9a-f]{8}$/.exec(subject)?.[1] ?? 'Isochron CA', former);
    this.#spreadAuthority();
  }

  /** Accepts the newest authority alone. @throws ReportedFailure while a certificate of the former one is here */
  dropAuthority(): void {
    const all = this.#authorities();
    if (all.length < 2) throw failure(`${this.authorityFile} has one authority: there is none to drop`);
    for (const name of this.names) this.#requireIssuedBy(name, new X509Certificate(all[0]!));
    replaceFile(this.authorityFile, all[0]!);
    this.#spreadAuthority();
  }

  get #authorityKey(): string {
    return join(this.path, 'ca-key.pem');
  }

  async #makeAuthority(name: string, former: readonly string[]): Promise<void> {
    const { pair } = await Authority.make(name, validFor(AUTHORITY_DAYS));
    makeFolder(this.path);
    replaceFile(this.#authorityKey, pair.key, SECRET);
    replaceFile(this.authorityFile, [pair.certificate, ...former].join(''));
  }

  async #loadAuthority(): Promise<Authority> {
    const [certificate] = this.#authorities();
    try {
      const key = readFileSync(this.#authorityKey, 'utf8');
      if (!new X509Certificate(certificate!).checkPrivateKey(createPrivateKey(key))) throw new Error('not its key');
      return await Authority.load({ certificate: certificate!, key });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw failure(`the authority in ${this.path} cannot be used (${reason}): ca.pem and ca-key.pem have to be there`);
    }
  }

  #authorities(): string[] {
    const text = existsSync(this.authorityFile) ? readFileSync(this.authorityFile, 'utf8') : '';
    const all = text.match(CERTIFICATE) ?? [];
    if (all.length > 0) return all;
    throw failure(`${this.path} has no authority: isochron certs create makes one`);
  }

  async #issue(authority: Authority, { name, request }: PlannedCertificate, validity: Validity): Promise<void> {
    const { cert, key } = this.filesOf(name);
    const pair: KeyPair = await authority.issue(request, validity);
    makeFolder(dirname(cert));
    replaceFile(key, pair.key, SECRET);
    replaceFile(cert, pair.certificate);
  }

  /** A node's folder has all that its machine needs. */
  #spreadAuthority(): void {
    const text = readFileSync(this.authorityFile, 'utf8');
    const folders = new Set(this.names.map((name) => dirname(join(this.path, name))));
    for (const folder of folders) {
      const copy = join(folder, 'ca.pem');
      if (folder !== this.path && statSync(folder).isDirectory()) replaceFile(copy, text);
    }
  }

  #requireIssuedBy(name: string, authority: X509Certificate): void {
    const { cert } = this.filesOf(name);
    if (new X509Certificate(readFileSync(cert, 'utf8')).verify(authority.publicKey)) return;
    throw failure(`${cert} is of the former authority: isochron certs renew replaces it`);
  }
}

const failure = (message: string): ReportedFailure => new ReportedFailure(`CERTIFICATE_INVALID: ${message}`);
