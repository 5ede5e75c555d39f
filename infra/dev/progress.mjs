// Shows progress on stderr, so that stdout holds only the output of the command itself.

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_INTERVAL_MS = 100;
const PLAIN_INTERVAL_MS = 15_000;

const isLive = () => Boolean(process.stderr.isTTY) && process.env.TERM !== 'dumb' && !process.env.CI;
const secondsSince = (startMs) => `${((performance.now() - startMs) / 1000).toFixed(1)} s`;

/**
 * Shows a label with the elapsed seconds while `work` runs: a spinner in a terminal, a line now and then elsewhere.
 * @template T
 * @param {string} label the present step, such as `Building`
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(label, work) {
  const startMs = performance.now();
  const live = isLive();
  let frame = 0;
  const show = () => {
    if (live) process.stderr.write(`\r\x1b[K${FRAMES[frame++ % FRAMES.length]} ${label} ${secondsSince(startMs)}`);
    else process.stderr.write(`${label} ... ${secondsSince(startMs)}\n`);
  };
  const end = (mark) => process.stderr.write(`${live ? '\r\x1b[K' : ''}${mark} ${label} ${secondsSince(startMs)}\n`);
  if (live) show();
  else process.stderr.write(`${label} ...\n`);
  const timer = setInterval(show, live ? FRAME_INTERVAL_MS : PLAIN_INTERVAL_MS);
  try {
    const result = await work();
    end('✓');
    return result;
  } catch (error) {
    end('✗');
    throw error;
  } finally {
    clearInterval(timer);
  }
}
