import type { LinkTuning } from './options.js';

/**
 * Options of both sides' WebSockets. No compression: it costs more CPU than the bytes are worth. No check of text, as
 * text is refused. Pongs are sent by the connection itself. ws sets TCP_NODELAY on its own.
 */
export const socketOptions = (tuning: LinkTuning) => ({
  perMessageDeflate: false,
  skipUTF8Validation: true,
  autoPong: false,
  allowSynchronousEvents: true,
  maxPayload: tuning.maxFrameBytes,
});
