import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';

/** Fields that are removed from every logged object. */
const SECRETS = ['authorization', 'credentials', 'token', 'secret', '["isochron-session"]', '["x-api-key"]', 'cookie'];
const under = (parent: string) =>
  SECRETS.map((name) => (name.startsWith('[') ? `${parent}${name}` : `${parent}.${name}`));

/** Logger of a node: JSON lines, without credentials. */
export function createLogger(options: LoggerOptions = {}, destination?: DestinationStream): Logger {
  const redact = {
    paths: [...SECRETS, ...under('*'), ...under('headers'), ...under('req.headers')],
    censor: '[redacted]',
  };
  return destination === undefined ? pino({ ...options, redact }) : pino({ ...options, redact }, destination);
}
