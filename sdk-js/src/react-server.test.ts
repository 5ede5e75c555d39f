/** React on a server: there is no document. */

import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createElement as h, type ReactNode, Suspense } from 'react';
import { renderToPipeableStream, renderToString } from 'react-dom/server';
import { FakeLive } from '../testing/fake-live.js';
import { IsochronClient } from './api/client.js';
import { type Watch, watchOf } from './api/watch.js';
import type { QueryResult } from './api/watched.js';
import { IsochronProvider, useLive, useLiveSuspense } from './react.js';

const client: IsochronClient = Object.create(IsochronClient.prototype);
const inside = (children: ReactNode) => h(IsochronProvider, { client, children });

interface Todo {
  readonly title: string;
}
const List = ({ watch }: { readonly watch: Watch<QueryResult<Todo>> }): string =>
  useLive(() => watch)?.documents[0]?.value.title ?? 'loading';
const Suspended = ({ watch }: { readonly watch: Watch<QueryResult<Todo>> }): string =>
  useLiveSuspense(() => watch).documents[0]!.value.title;

function todos() {
  const fake = new FakeLive();
  fake.put({ 'default/todos/1': { title: 'milk' } });
  const watch = watchOf(fake, { keyspace: 'default', prefix: 'todos/' }, {}) as Watch<QueryResult<Todo>>;
  return { fake, watch };
}

describe('React on a server', () => {
  it('useLive renders nothing on a server, and reads nothing', async () => {
    const { fake, watch } = todos();
    expect(renderToString(inside(h(List, { watch })))).toBe('loading');
    await new Promise((resolve) => setImmediate(resolve));
    expect(fake.begun).toBe(0);
  });

  it('useLiveSuspense puts the first result into the page of a server', async () => {
    const { fake, watch } = todos();
    const whole = await new Promise<string>((resolve, reject) => {
      const stream = renderToPipeableStream(inside(h(Suspense, { fallback: 'waiting' }, h(Suspended, { watch }))), {
        onAllReady: () => resolve(text(stream.pipe(new PassThrough()))),
        onError: reject,
      });
    });
    expect(whole).toContain('milk');
    expect(whole).not.toContain('waiting');
    expect(fake.begun).toBe(1);
  });
});
