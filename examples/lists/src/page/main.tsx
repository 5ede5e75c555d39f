/**
 * The page: `?member=Ann&node=http://127.0.0.1:7101`, or with `&issuer=…` instead of a member, who signs in there. The
 * client finds the other nodes by itself.
 */
import { connect } from '@isochron/sdk';
import { IsochronProvider } from '@isochron/sdk/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';

const query = new URLSearchParams(location.search);
const issuer = query.get('issuer') ?? sessionStorage.getItem('issuer');
const root = createRoot(document.querySelector('#root')!);

/** Who uses the page: a name alone, or a member who signs in. */
async function memberOf(): Promise<{ readonly name: string; token?(): Promise<string> }> {
  if (issuer === null) return { name: query.get('member') ?? 'Ann' };
  // The provider comes back to an address without it.
  sessionStorage.setItem('issuer', issuer);
  return (await import('./sign-in.js')).signIn(issuer);
}

async function start(): Promise<void> {
  root.render(<p className="waiting">Connecting …</p>);
  const { name, token } = await memberOf();
  const node = new URLSearchParams(location.search).get('node') ?? 'http://127.0.0.1:7101';
  const client = await connect({ endpoints: [node], ...(token === undefined ? {} : { auth: token }) });
  root.render(
    <StrictMode>
      <IsochronProvider client={client}>
        <App member={name} />
      </IsochronProvider>
    </StrictMode>,
  );
}

try {
  await start();
} catch (error) {
  root.render(
    <p className="waiting">
      {String(error)}: start the cluster with <code>npm start</code>, and load this page again.
    </p>,
  );
}
