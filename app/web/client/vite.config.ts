// Two builds: the page with its workers, and the script of a replay capsule as one file (`--mode capsule`).
import { defineConfig } from 'vite';

export default defineConfig(({ mode }) => {
  const capsule = mode === 'capsule';
  return {
    base: './',
    publicDir: capsule ? false : 'public',
    define: { __CAPSULE__: JSON.stringify(capsule) },
    worker: { format: 'es' as const },
    build: {
      outDir: '../static',
      emptyOutDir: !capsule,
      target: 'es2023',
      sourcemap: false,
      chunkSizeWarningLimit: 6000,
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      cssCodeSplit: !capsule,
      ...(capsule ? { lib: { entry: 'src/capsule_main.ts', formats: ['iife' as const], name: 'TapescopeCapsule', fileName: () => 'capsule.js', cssFileName: 'capsule' } } : {}),
    },
  };
});
