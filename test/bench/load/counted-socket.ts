/** A WebSocket that counts its frames and bytes, for the cost table. */
import { type RawData, WebSocket } from 'ws';

/** The traffic of a load generator's sockets. */
export interface FrameCounts {
  readonly sent: number;
  readonly received: number;
  readonly bytes: number;
}

const counts = { sent: 0, received: 0, bytes: 0 };

/** The traffic of all of them so far. */
export const framesSoFar = (): FrameCounts => ({ ...counts });

export const framesSince = (before: FrameCounts): FrameCounts => ({
  sent: counts.sent - before.sent,
  received: counts.received - before.received,
  bytes: counts.bytes - before.bytes,
});

export class CountedWebSocket extends WebSocket {
  constructor(address: string | URL, protocols?: string | string[]) {
    super(address, protocols);
    this.on('message', (data: RawData) => {
      counts.received++;
      counts.bytes += Array.isArray(data) ? data.reduce((sum, { length }) => sum + length, 0) : data.byteLength;
    });
  }

  override send(data: Parameters<WebSocket['send']>[0]): void {
    counts.sent++;
    counts.bytes += typeof data === 'string' ? Buffer.byteLength(data) : (data as Uint8Array).byteLength;
    super.send(data);
  }
}
