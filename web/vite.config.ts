import { defineConfig } from 'vite';

export default defineConfig({
  // Relative, so that the folder can be put anywhere.
  base: './',
  build: {
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 900,
  },
  worker: { format: 'es' },
  server: { fs: { allow: ['..'] } },
});
