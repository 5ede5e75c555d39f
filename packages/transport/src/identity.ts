/** Mutual TLS between nodes: the certificate of a node names it by an URI. */
import { constants, X509Certificate } from 'node:crypto';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import type { NodeId } from '@isochron/core';

/** Certificates in a chain that are looked at, at most. */
const MAX_CHAIN = 10;

/** The URI that the certificate of a node names: nodes of another cluster, or another node, have another one. */
export const nodeUri = (cluster: string, node: NodeId): string => `isochron://${cluster}/node/${node}`;

/** The URIs that a certificate names. Node puts a name that could be mistaken for several between quotation marks. */
export const urisOf = (subjectAltName = ''): string[] =>
  [...subjectAltName.matchAll(/(?:^|, )(?:URI:(?<uri>[^",]+)|[^:]+:(?:"(?:[^"\\]|\\.)*"|[^",]*))(?=, |$)/g)].flatMap(
    ({ groups }) => groups?.uri ?? [],
  );

/** Certificates of this node, and of those that may link to it. */
export interface PeerCertificates {
  /** In PEM form. */
  readonly current: { readonly cert: string; readonly key: string; readonly ca: string };
  /** Calls `listener` when they have changed; returns a function that ends it. */
  onChange(listener: () => void): () => void;
}

/** Mutual TLS of all links of a node. */
export interface PeerTls {
  readonly cluster: string;
  readonly certificates: PeerCertificates;
}

/**
 * What both sides of a connection take. No session is resumed: a resumed one would not check certificates again, and
 * the authority of its certificate may have been dropped since.
 */
export const secureOptions = ({ certificates: { current } }: PeerTls) => ({
  ...current,
  minVersion: 'TLSv1.3' as const,
  maxVersion: 'TLSv1.3' as const,
  secureOptions: constants.SSL_OP_NO_TICKET,
});

/** An error of a certificate that is not accepted. */
export class CertificateRefused extends Error {
  readonly code = 'PEER_REFUSED';
}

/** Checks of the dialling side, in place of that of host names: a node is known by its name, at whatever address. */
export const dialOptions = (tls: PeerTls, node: NodeId) => ({
  ...secureOptions(tls),
  checkServerIdentity: (_host: string, { subjectaltname }: PeerCertificate): Error | undefined => {
    const refusal = namesAnother(subjectaltname, nodeUri(tls.cluster, node));
    return refusal === undefined ? undefined : new CertificateRefused(refusal);
  },
});

/** Why a certificate is not that of a node; undefined where it is. */
export function namesAnother(subjectAltName: string | undefined, uri: string): string | undefined {
  const uris = urisOf(subjectAltName);
  if (uris.includes(uri)) return undefined;
  return `the certificate of the peer names ${uris.length === 0 ? 'no node' : uris.join(', ')}, not ${uri}`;
}

/** The certificate of a connection that was accepted, or the reason why none is. */
export type Presented =
  | { readonly certificate: X509Certificate; readonly refusal?: undefined }
  | { readonly certificate?: undefined; readonly refusal: string };

/** What the other side of a connection has presented. */
export function presented(socket: TLSSocket): Presented {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return { refusal: 'the peer has no certificate' };
  if (socket.authorized) return { certificate };
  const { authorizationError } = socket;
  return {
    refusal: certificateFault(String(authorizationError)) ?? `the certificate of the peer: ${authorizationError}`,
  };
}

const FAULTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the certificate of the peer has expired',
  CERT_NOT_YET_VALID: 'the certificate of the peer is not valid yet',
  INVALID_PURPOSE: 'the certificate of the peer is for another purpose',
  CERT_SIGNATURE_FAILURE: 'the certificate of the peer is forged',
};
const UNKNOWN_AUTHORITY = /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_\w+)$/;

/** The sentence of a fault of a certificate, by its code in TLS; undefined for another error. */
export function certificateFault(code: string): string | undefined {
  if (UNKNOWN_AUTHORITY.test(code)) return 'the certificate of the peer is of an unknown authority';
  return FAULTS[code];
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Whether a certificate, or one of those between it and its authority, was issued by one of these authorities. */
export function isIssuedBy(certificate: X509Certificate, ca: string): boolean {
  const authorities = (ca.match(CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem));
  const issued = (one: X509Certificate): boolean =>
    authorities.some((authority) => one.checkIssued(authority) && one.verify(authority.publicKey));
  let one: X509Certificate | undefined = certificate;
  for (let depth = 0; one !== undefined && depth < MAX_CHAIN; depth++, one = one.issuerCertificate) {
    if (issued(one)) return true;
  }
  return false;
}
