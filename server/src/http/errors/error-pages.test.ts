import { ERROR_CODES, type ErrorCode } from '@isochron/core';
import { startApi, type TestApi } from '../../../testing/test-api.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi({ apiKeys: ['k'] });
});
afterAll(() => api.close());

describe('the type of a problem document', () => {
  it('the type of a problem is a page with the meaning and remedy of its code, also without a key', async () => {
    const problem = (await api.call('GET', '/v1/clock')).json();
    const page = await api.call('GET', String(problem.type));
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    for (const text of ['UNAUTHENTICATED', String(problem.title), 'HTTP status 401', 'Sign in again'])
      expect(page.text).toContain(text);
  });

  it('the type of a problem is a page for every code, and the list of errors leads to all of them', async () => {
    const list = await api.call('GET', '/errors');
    for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
      const page = await api.call('GET', `/errors/${code}`);
      expect([page.status, page.text]).toEqual([200, expect.stringContaining(`<h1><code>${code}</code></h1>`)]);
      expect(list.text).toContain(`href="/errors/${code}"`);
    }
  });

  it('the page of a code shows quoted names as code, and no text as markup', async () => {
    const page = await api.call('GET', '/errors/ROUTE_NOT_FOUND');
    expect(page.text).toContain('<code>%2F</code>');
    expect(page.text).not.toContain('`');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
  });

  it('the page of a code that does not exist is a problem of its own', async () => {
    for (const code of ['NONE', 'toString', '%3Cscript%3E'])
      expect((await api.call('GET', `/errors/${code}`)).json()).toMatchObject({ code: 'ROUTE_NOT_FOUND', status: 404 });
  });
});
