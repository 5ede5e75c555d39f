/** Raw bytes over a connection of their own: no client library refuses or repairs the bytes of a test. */
import { connect } from 'node:net';

/**
 * Sends bytes to a local port, and returns the bytes received until the other side ended the connection.
 * @param end whether this side ends the connection at once, too: Node then drops a response that is not ready
 */
export function exchange(port: number, bytes: Uint8Array, end: boolean): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      if (end) socket.end(bytes);
      else socket.write(bytes);
    });
    const chunks: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(Buffer.concat(chunks)));
  });
}

/** Opens a WebSocket by hand, sends bytes in place of frames, and returns the bytes received after the upgrade. */
export async function exchangeFrames(port: number, path: string, bytes: Uint8Array): Promise<Buffer> {
  const lines = [
    `GET ${path} HTTP/1.1`,
    'host: localhost',
    'connection: upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
  ];
  const upgrade = Buffer.from([...lines, '', ''].join('\r\n'));
  const answer = await exchange(port, Buffer.concat([upgrade, bytes]), true);
  return answer.subarray(answer.indexOf('\r\n\r\n') + 4);
}

/** A masked binary frame, as clients send them. */
export const maskedFrame = (bytes: Uint8Array): Uint8Array =>
  Uint8Array.from([0x82, 0x80 | bytes.length, 1, 2, 3, 4, ...bytes]);

/** The header of a masked binary frame of 4 GiB. */
export const GIANT_FRAME = Uint8Array.from([0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 1, 2, 3, 4, 5]);

/** A close frame without a reason. */
export const closeFrame = (code: number): Buffer => Buffer.from([0x88, 2, code >> 8, code & 0xff]);
