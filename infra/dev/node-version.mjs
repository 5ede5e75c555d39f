// The beginning of every command of this folder. The syntax and the imports here stay readable for old versions of Node
// (no top-level await, no static import of another file), so that they get to the message below.

const MINIMUM_MAJOR = 20;

/**
 * Whether a version of Node can run this repository.
 * @param {string} version such as `20.11.0`
 * @returns {string} what to do about it, or an empty string when it can
 */
export function nodeProblem(version) {
  if (Number.parseInt(version, 10) >= MINIMUM_MAJOR) return '';
  return `Isochron needs Node ${MINIMUM_MAJOR} or newer and this is ${version}: install a current one from https://nodejs.org and run the command again.`;
}

/**
 * Runs a command and turns its end into the exit code of this process.
 * @param {() => Promise<number>} main resolves to the exit code; an error is printed as one line, after the `output`
 *   it carries, and its `exitCode` (default 1) is used
 */
export function runMain(main) {
  const problem = nodeProblem(process.versions.node);
  if (problem !== '') {
    console.error(problem);
    process.exitCode = 1;
    return;
  }
  main().then(
    (code) => {
      process.exitCode = code;
    },
    (error) => {
      if (error.output) process.stderr.write(error.output);
      console.error(error.message);
      process.exitCode = error.exitCode || 1;
    },
  );
}
