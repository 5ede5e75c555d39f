/** A certificate authority of its own, and what it issues. ECDSA on P-256, by WebCrypto. */
import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type GeneralNameType,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const CURVE = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNING = { ...CURVE, hash: 'SHA-256' } as const;
const DAY_MS = 86_400_000;
/** Clocks that are behind by less accept a new certificate at once. */
const BACKDATED_MS = 3_600_000;

/** A certificate and its private key, as the text of PEM files. */
export interface KeyPair {
  readonly certificate: string;
  readonly key: string;
}

/** The time in which a certificate is valid, wall clock in ms. */
export interface Validity {
  readonly from: number;
  readonly to: number;
}

/** What a certificate is for. */
export interface Request {
  readonly commonName: string;
  /** Host names and IP addresses. */
  readonly hosts: readonly string[];
  readonly uris: readonly string[];
  /** Whether it also proves a client: nodes dial each other. */
  readonly client: boolean;
}

/** @param days from now on */
export const validFor = (days: number, now = Date.now()): Validity => ({
  from: now - BACKDATED_MS,
  to: now + days * DAY_MS,
});

/** A certificate authority that issues, and is in use for `days`. */
export class Authority {
  private constructor(
    readonly certificate: X509Certificate,
    readonly key: webcrypto.CryptoKey,
  ) {}

  /** @param name of its subject; no two have the same, as their keys differ */
  static async make(name: string, validity: Validity): Promise<{ authority: Authority; pair: KeyPair }> {
    const keys = await newKeys();
    const certificate = await X509CertificateGenerator.createSelfSigned({
      ...commonFields(validity),
      name: subjectOf(`${name} ${randomBytes(4).toString('hex')}`),
      keys,
      extensions: [
        new BasicConstraintsExtension(true, 0, true),
        new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return { authority: new Authority(certificate, keys.privateKey), pair: await pairOf(certificate, keys) };
  }

  /** @throws an error of its parser for texts that are no certificate or no key of this kind */
  static async load({ certificate, key }: KeyPair): Promise<Authority> {
    const der = PemConverter.decodeFirst(key);
    const signing = await webcrypto.subtle.importKey('pkcs8', der, SIGNING, false, ['sign']);
    return new Authority(new X509Certificate(certificate), signing);
  }

  async issue({ commonName, hosts, uris, client }: Request, validity: Validity): Promise<KeyPair> {
    const keys = await newKeys();
    const usages = [ExtendedKeyUsage.serverAuth, ...(client ? [ExtendedKeyUsage.clientAuth] : [])];
    const certificate = await X509CertificateGenerator.create({
      ...commonFields(validity),
      subject: subjectOf(commonName),
      issuer: this.certificate.subjectName,
      publicKey: keys.publicKey,
      signingKey: this.key,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension(usages),
        new SubjectAlternativeNameExtension([...hosts.map(hostName), ...uris.map(uriName)]),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
        await AuthorityKeyIdentifierExtension.create(this.certificate),
      ],
    });
    return pairOf(certificate, keys);
  }
}

/** The names of a certificate, to issue another one for the same. */
export function requestOf(pem: string): Request {
  const certificate = new X509Certificate(pem);
  const names = certificate.getExtension(SubjectAlternativeNameExtension)?.names.toJSON() ?? [];
  const valuesOf = (...types: readonly GeneralNameType[]) =>
    names.filter(({ type }) => types.includes(type)).map(({ value }) => value);
  const usages = certificate.getExtension(ExtendedKeyUsageExtension)?.usages ?? [];
  return {
    commonName: certificate.subjectName.getField('CN')[0] ?? '',
    hosts: valuesOf('dns', 'ip'),
    uris: valuesOf('url'),
    client: usages.includes(ExtendedKeyUsage.clientAuth),
  };
}

const commonFields = ({ from, to }: Validity) => ({
  // Positive, as the standard asks for.
  serialNumber: `01${randomBytes(15).toString('hex')}`,
  notBefore: new Date(from),
  notAfter: new Date(to),
  signingAlgorithm: SIGNING,
});

const subjectOf = (name: string) => [{ CN: [name] }];

const hostName = (host: string): { type: GeneralNameType; value: string } => ({
  type: isIP(host) === 0 ? 'dns' : 'ip',
  value: host,
});
const uriName = (value: string): { type: GeneralNameType; value: string } => ({ type: 'url', value });

const newKeys = (): Promise<webcrypto.CryptoKeyPair> => webcrypto.subtle.generateKey(CURVE, true, ['sign', 'verify']);

async function pairOf(certificate: X509Certificate, { privateKey }: webcrypto.CryptoKeyPair): Promise<KeyPair> {
  const der = await webcrypto.subtle.exportKey('pkcs8', privateKey);
  return { certificate: `${certificate.toString('pem')}\n`, key: `${PemConverter.encode(der, 'PRIVATE KEY')}\n` };
}
