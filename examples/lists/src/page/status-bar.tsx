import { useConnection, usePending } from '@isochron/sdk/react';
import { type ReactNode, useEffect, useState } from 'react';

/** The member, the region, and whether what the page shows is up to date and stored. */
export function StatusBar({ member }: { readonly member: string }): ReactNode {
  const { state, region } = useConnection();
  const pending = usePending();
  return (
    <p className="status" data-state={state}>
      <span className="member">{member}</span>
      <span className="dot" aria-hidden="true" />
      {region === undefined ? 'no connection' : region}
      <Age />
      {pending > 0 && <span className="saving">saving {pending}</span>}
    </p>
  );
}

/** How old the snapshot is: it grows while a region is cut off. */
function Age(): ReactNode {
  const { stalenessMs } = useConnection();
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1_000);
    return () => clearInterval(timer);
  }, []);
  if (stalenessMs === undefined || stalenessMs < 3_000) return null;
  return <span className="age">as of {Math.round(stalenessMs / 1_000)} s ago</span>;
}
