// `npm run build`: installs and builds as far as needed.

import { runMain } from './node-version.mjs';

runMain(async () => {
  const { prepare } = await import('./steps.mjs');
  await prepare();
  return 0;
});
