/** One request to a node: `fetch` takes no certificate authorities. */
import { request as requestPlain } from 'node:http';
import { request as requestOverTls } from 'node:https';
import { text as textOf } from 'node:stream/consumers';

/** A GET, or with a body a POST. */
export interface RequestOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
  /** Certificate authorities in PEM form; default: those that Node knows. */
  readonly ca?: string | undefined;
}

/** @throws the system's error, that of TLS, or the reason of the signal */
export function request(
  url: string,
  { body, signal, ca, ...options }: RequestOptions,
): Promise<{ readonly status: number; readonly text: string }> {
  const method = body === undefined ? 'GET' : 'POST';
  return new Promise((resolve, reject) => {
    const failed = (error: unknown): void => reject(signal.aborted ? signal.reason : error);
    const send = url.startsWith('https:') ? requestOverTls : requestPlain;
    const sent = send(
      url,
      { ...options, method, signal, agent: false, ...(ca === undefined ? {} : { ca }) },
      (answer) => {
        textOf(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text }), failed);
      },
    );
    sent.on('error', failed);
    sent.end(body);
  });
}

/** The reason of a failed connection: the system's code, or a sentence about a certificate that is not accepted. */
export function connectionReason(code: string, message: string): string {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `${code}: the certificate of the node is for other names`;
  const isAuthority = /^(?:SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_\w+)$/.test(code);
  if (isAuthority) return `${code}: no known authority issued the certificate of the node; name its file with --ca`;
  return /^E[A-Z0-9]+$/.test(code) ? code : `${code}: ${message}`;
}
