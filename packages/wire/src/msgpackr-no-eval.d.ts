// This build of msgpackr ships without declarations; it exports the same names.
declare module 'msgpackr/index-no-eval' {
  export { addExtension, Packr } from 'msgpackr';
}
