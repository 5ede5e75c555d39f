/** A GET from a node, also over TLS. */
import { get as getPlain } from 'node:http';
import { get as getOverTls } from 'node:https';
import { text as textOf } from 'node:stream/consumers';

export interface GetAnswer {
  readonly status: number;
  readonly text: string;
}

/**
 * @param ca certificate authorities of the node, where it has TLS
 * @param token where callers need one
 */
export const get = (url: string, ca?: string, token?: string): Promise<GetAnswer> =>
  new Promise((resolve, reject) => {
    const send = ca === undefined ? getPlain : getOverTls;
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const sent = send(url, { agent: false, headers, ...(ca === undefined ? {} : { ca }) }, (answer) => {
      textOf(answer).then((text) => resolve({ status: answer.statusCode ?? 0, text }), reject);
    });
    sent.on('error', reject);
  });
