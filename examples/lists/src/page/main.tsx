/** The page: `?member=Ann&node=http://127.0.0.1:7101`. The client finds the other nodes by itself. */
import { connect } from '@isochron/sdk';
import { IsochronProvider } from '@isochron/sdk/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';

const query = new URLSearchParams(location.search);
const member = query.get('member') ?? 'Ann';
const node = query.get('node') ?? 'http://127.0.0.1:7101';

const root = createRoot(document.querySelector('#root')!);
root.render(<p className="waiting">Connecting to {node} …</p>);
try {
  const client = await connect({ endpoints: [node] });
  root.render(
    <StrictMode>
      <IsochronProvider client={client}>
        <App member={member} />
      </IsochronProvider>
    </StrictMode>,
  );
} catch (error) {
  root.render(
    <p className="waiting">
      {String(error)}: start the cluster with <code>npm start</code>, and load this page again.
    </p>,
  );
}
