/** Certificates, keys and certificate authorities in files. Everything is checked before it is used. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { types } from 'node:util';
import { IsochronError } from '@isochron/core';
import { urisOf } from '@isochron/transport';
import { openToOthers } from '../config/private-file.js';

/** The files of one listener. */
export interface CertificateFiles {
  /** A certificate, with the certificates between it and its authority behind it. */
  readonly cert: string;
  /** The private key of the certificate, without a passphrase. */
  readonly key: string;
  /** Certificate authorities of the other side. Two of them while one replaces the other. */
  readonly ca?: string;
}

/** The contents of the files, as TLS takes them. */
export interface CertificateSet {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
  /** When the certificate expires, wall clock in ms. */
  readonly expiresAt: number;
}

/** Further conditions of a set. */
export interface CertificateChecks {
  /** Wall clock, ms. */
  readonly now: () => number;
  /** The URI that the certificate has to name. */
  readonly uri?: string;
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * @throws IsochronError `CERTIFICATE_INVALID` for files that cannot be read, are of another kind or do not fit together
 */
export function readCertificates(files: CertificateFiles, checks: CertificateChecks): CertificateSet {
  const [cert, key] = [read(files.cert), read(files.key)];
  const chain = certificatesIn(files.cert, cert);
  const leaf = chain[0]!;
  checkKey(files, leaf, key);
  checkDates(files.cert, leaf, checks.now());
  if (checks.uri !== undefined) checkUri(files.cert, leaf, checks.uri);
  const expiresAt = Date.parse(leaf.validTo);
  if (files.ca === undefined) return usable(files, { cert, key, expiresAt });
  const ca = read(files.ca);
  checkAuthorities(files, chain, certificatesIn(files.ca, ca), checks.now());
  return usable(files, { cert, key, ca, expiresAt });
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const code = types.isNativeError(cause) && 'code' in cause ? String(cause.code) : String(cause);
    throw refusal(`${path} cannot be read (${code})`, cause);
  }
}

function certificatesIn(path: string, text: string): X509Certificate[] {
  const blocks = text.match(BLOCK) ?? [];
  if (blocks.length === 0) {
    const holdsKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text);
    const found = holdsKey ? 'holds a private key, and no certificate' : 'holds no certificate in PEM form';
    throw refusal(`${path} ${found}: name the file with the certificate`);
  }
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch (cause) {
    throw refusal(`${path} holds a damaged certificate`, cause);
  }
}

function checkKey(files: CertificateFiles, leaf: X509Certificate, text: string): void {
  let key: KeyObject;
  try {
    key = createPrivateKey(text);
  } catch (cause) {
    throw refusal(`${files.key} holds no private key in PEM form without a passphrase`, cause);
  }
  const reason = openToOthers(files.key);
  if (reason !== undefined) throw refusal(reason);
  if (!leaf.checkPrivateKey(key)) {
    throw refusal(`the key in ${files.key} is not that of the certificate in ${files.cert}`);
  }
}

function checkDates(path: string, { validFrom, validTo }: X509Certificate, now: number): void {
  if (now > Date.parse(validTo)) throw refusal(`the certificate in ${path} expired on ${day(validTo)}: renew it`);
  if (now < Date.parse(validFrom)) {
    throw refusal(`the certificate in ${path} is not valid before ${day(validFrom)}: check the clock of this machine`);
  }
}

function checkUri(path: string, leaf: X509Certificate, uri: string): void {
  const named = urisOf(leaf.subjectAltName);
  if (named.includes(uri)) return;
  const instead = named.length === 0 ? 'no node' : named.join(', ');
  throw refusal(`the certificate in ${path} names ${instead}, and has to name ${uri}`);
}

function checkAuthorities(
  { cert, ca: path }: CertificateFiles,
  chain: readonly X509Certificate[],
  authorities: readonly X509Certificate[],
  now: number,
): void {
  const other = authorities.find(({ ca }) => !ca);
  if (other !== undefined) throw refusal(`${path} holds a certificate that is no authority (${nameOf(other)})`);
  const valid = authorities.filter(
    ({ validFrom, validTo }) => now >= Date.parse(validFrom) && now <= Date.parse(validTo),
  );
  if (valid.length === 0) throw refusal(`no certificate authority in ${path} is valid now`);
  const top = chain.at(-1)!;
  const isTrusted = valid.some((authority) => top.checkIssued(authority) && top.verify(authority.publicKey));
  if (!isTrusted) throw refusal(`the certificate in ${cert} was not issued by an authority in ${path}`);
}

/** What OpenSSL refuses beyond that, such as a key that is too short. */
function usable({ cert: path }: CertificateFiles, set: CertificateSet): CertificateSet {
  try {
    createSecureContext(set);
  } catch (cause) {
    throw refusal(
      `the certificate in ${path} cannot be used (${types.isNativeError(cause) ? cause.message : cause})`,
      cause,
    );
  }
  return set;
}

const nameOf = ({ subject }: X509Certificate): string => subject.replaceAll('\n', ', ');

/** The day of a date, in UTC. */
const day = (date: string): string => new Date(date).toISOString().slice(0, 10);

const refusal = (message: string, cause?: unknown): IsochronError =>
  new IsochronError('CERTIFICATE_INVALID', message, { cause });
