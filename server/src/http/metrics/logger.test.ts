import { createLogger } from './logger.js';

describe('the log', () => {
  it('the log never holds credentials', () => {
    let text = '';
    const write = (line: string): void => {
      text += line;
    };
    const log = createLogger({}, { write });
    const headers = {
      authorization: 'Bearer hidden-1',
      'isochron-session': 'hidden-2',
      cookie: 'hidden-3',
      host: 'shown',
    };
    log.info({ headers, req: { headers }, credentials: 'hidden-4', frame: { token: 'hidden-5' } }, 'x');
    expect(text).toContain('shown');
    expect(text).not.toContain('hidden');
  });
});
