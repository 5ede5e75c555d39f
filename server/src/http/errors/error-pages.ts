/** A page for each error code: the target of the `type` of a problem document. */
import {
  ERROR_ADVICE,
  ERROR_CODES,
  ERROR_TITLES,
  type ErrorCode,
  HTTP_STATUS,
  IsochronError,
  isErrorCode,
} from '@isochron/core';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** Path of the page about an error code. */
export const errorPage = (code: ErrorCode): string => `/errors/${code}`;

export function errorPageRoutes(app: FastifyInstance): void {
  const schema = { hide: true };
  app.get('/errors', { schema }, (_request, reply) => sendPage(reply, 'Errors', list()));
  app.get('/errors/:code', { schema }, (request, reply) => {
    const { code } = request.params as { code: string };
    if (!isErrorCode(code))
      throw new IsochronError('ROUTE_NOT_FOUND', 'There is no error of this code. /errors lists all of them.');
    sendPage(reply, code, about(code));
  });
}

function list(): string {
  const items = (Object.keys(ERROR_CODES) as ErrorCode[]).map(
    (code) => `<li><a href="${errorPage(code)}"><code>${code}</code></a> ${html(ERROR_TITLES[code])}</li>`,
  );
  return `<h1>Errors</h1><ul>${items.join('')}</ul>`;
}

function about(code: ErrorCode): string {
  const again = ERROR_CODES[code] ? 'The same request may succeed later.' : 'The same request fails again.';
  return (
    `<h1><code>${code}</code></h1><p><strong>${html(ERROR_TITLES[code])}.</strong> ${html(ERROR_ADVICE[code])}</p>` +
    `<p>HTTP status ${HTTP_STATUS[code]}. ${again}</p><p><a href="/errors">All errors</a></p>`
  );
}

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
const STYLE = 'body{font:16px/1.5 system-ui,sans-serif;max-width:44em;margin:2em auto;padding:0 1em}';

function sendPage(reply: FastifyReply, title: string, body: string): void {
  const head = `<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>`;
  reply
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', POLICY)
    .header('x-content-type-options', 'nosniff')
    .send(`<!doctype html><html lang="en"><head>${head}<style>${STYLE}</style></head><body>${body}</body></html>`);
}

/** A text as HTML, with backquoted parts as code. */
const html = (text: string): string =>
  text
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/`([^`]+)`/g, '<code>$1</code>');
