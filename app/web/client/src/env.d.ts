declare const __CAPSULE__: boolean;
declare module 'plotly.js-strict-dist-min';
